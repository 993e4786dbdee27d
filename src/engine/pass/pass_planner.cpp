#include "engine/pass/pass_planner.h"

#include <algorithm>

namespace corral::engine {
namespace {

// It has lost cells since the beginning of the round, and needs embeddings that it has released.
bool is_without_rows(const Session& session) {
  const MediaSpan* const next = session.next_media();
  return next != nullptr && next->rows == nullptr;
}

}  // namespace

PassPlanner::PassPlanner(Parts parts, std::uint32_t batch, const WorkerOptions& options)
    : sessions_(parts.sessions),
      kv_(parts.kv),
      costs_(parts.costs),
      prompts_(parts.prompts),
      batch_(batch),
      max_outputs_(options.max_sequences) {}

void PassPlanner::plan(Pass& pass) {
  pass.clear();
  if (Session* const suspect = next_suspect()) {
    pass.alone = true;
    pass.media = suspect->next_media() != nullptr;
    pass.items.push_back({.session = suspect, .tokens = std::min(suspect->to_compute_at_once(), batch_)});
    return;
  }
  choose_adapters();
  views_.clear();
  for (const Session* session : going_) views_.push_back(runnable_view(*session));
  if (plan_media(pass) || going_.empty()) return;
  const auto decoding = static_cast<std::uint32_t>(std::ranges::count_if(views_, &RunnableView::decoding));
  pass.limits = {.tokens = batch_, .outputs = max_outputs_, .prefill = prompts_.beside(views_)};
  pass.measuring = decoding > 0 && pass.limits.prefill == 0;
  for (const BatchItem& item : plan_batch(views_, pass.limits))
    pass.items.push_back({.session = going_[item.index], .tokens = item.tokens});
  if (decoding == views_.size()) take_turns(pass);
  // A split layout needs its sequences in order: each gap or step back would cost a pass of its own.
  std::ranges::sort(pass.items, {}, [](const PassItem& item) { return item.session->sequence; });
}

// Sessions whose next cells are those of a picture or sound are in passes of their own.
void PassPlanner::choose_adapters() {
  wanted_.clear();
  going_.clear();
  for (const Session* session : sessions_.active()) {
    if (session->next_media() == nullptr) wanted_.push_back(&session->shared->adapters);
  }
  if (wanted_.empty()) return;
  const AdapterScales& one = turns_.next(wanted_);
  for (Session* session : sessions_.active()) {
    if (session->next_media() == nullptr && session->shared->adapters == one) going_.push_back(session);
  }
}

// A picture or sound is computed if nothing else is to be, and otherwise in every second pass, with as many cells as
// a prompt would have beside the running streams.
bool PassPlanner::plan_media(Pass& pass) const {
  Session* oldest = nullptr;
  for (Session* session : sessions_.active()) {
    if (session->next_media() == nullptr || is_without_rows(*session)) continue;
    if (oldest == nullptr || session->generation->order < oldest->generation->order) oldest = session;
  }
  if (oldest == nullptr || (last_was_media_ && !going_.empty())) return false;
  std::uint32_t max = batch_;
  if (std::ranges::any_of(views_, &RunnableView::decoding)) max = std::min(prompts_.beside(views_), batch_);
  if (max == 0) return false;  // a pass without prompts is to be measured
  if (oldest->next_media()->piece->both_ways) max = batch_;
  pass.media = true;
  pass.items.push_back({.session = oldest, .tokens = std::min(oldest->to_compute_at_once(), max)});
  return true;
}

// The oldest generation that must compute alone; nullptr: none.
Session* PassPlanner::next_suspect() const {
  Session* oldest = nullptr;
  for (Session* session : sessions_.active()) {
    if (session->in_cache >= session->suspect_until || is_without_rows(*session)) continue;
    if (oldest == nullptr || session->generation->order < oldest->generation->order) oldest = session;
  }
  return oldest;
}

// All sessions decode. If not all go at once, those that waited longest go first.
void PassPlanner::take_turns(Pass& pass) {
  const auto running = static_cast<std::uint32_t>(pass.items.size());
  find_padding(pass, running);
  const auto padding = static_cast<std::uint32_t>(pass.padding.size());
  pass.padding.clear();
  const Turn turn = costs_.turn(running, padding);
  pass.measuring = turn.trial;
  if (turn.sessions == running) return;
  std::ranges::sort(pass.items, {}, [](const PassItem& item) { return item.session->last_used; });
  pass.items.resize(turn.sessions);
}

// Finds where padding rows can go, in a pass of so many rows.
void PassPlanner::find_padding(Pass& pass, std::uint32_t rows) const {
  pass.padding.clear();
  // In a split layout, the sequences of a pass must have no gaps.
  if (pass.items.size() < sessions_.active().size() || costs_.max_padding() == 0) return;
  std::uint32_t longest = 0;
  for (const PassItem& item : pass.items) longest = std::max(longest, item.session->in_cache);
  const std::uint32_t room = batch_ - std::min(batch_, rows);
  find_padding_rows(*kv_,
                    {.rows = rows,
                     .sessions = static_cast<std::uint32_t>(pass.items.size()),
                     .longest = longest,
                     .max = std::min(costs_.max_padding(), room)},
                    pass.padding);
}

void PassPlanner::fill_up(Pass& pass) {
  last_was_media_ = pass.media;
  // The pass is computed now: record the turn of its adapters.
  wanted_.clear();
  for (const Session* session : sessions_.active()) wanted_.push_back(&session->shared->adapters);
  turns_.took(pass.items.front().session->shared->adapters, wanted_);
  if (pass.items.size() < 2 || !pass.streams_only()) return;
  const std::uint32_t rows = pass.rows();
  find_padding(pass, rows);
  pass.padding.resize(costs_.filled_rows(rows, static_cast<std::uint32_t>(pass.padding.size())) - rows);
}

}  // namespace corral::engine
