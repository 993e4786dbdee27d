#include "engine/pass/pass_planner.h"

#include <algorithm>

namespace corral::engine {

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
    pass.items.push_back({.session = suspect, .tokens = std::min(suspect->to_compute(), batch_)});
    return;
  }
  choose_adapters();
  views_.clear();
  for (const Session* session : going_) views_.push_back(runnable_view(*session));
  const auto decoding = static_cast<std::uint32_t>(std::ranges::count_if(views_, &RunnableView::decoding));
  pass.limits = {.tokens = batch_, .outputs = max_outputs_, .prefill = prompts_.beside(views_)};
  pass.measuring = decoding > 0 && pass.limits.prefill == 0;
  for (const BatchItem& item : plan_batch(views_, pass.limits))
    pass.items.push_back({.session = going_[item.index], .tokens = item.tokens});
  if (decoding == views_.size()) take_turns(pass);
  // A split layout needs its sequences in order: each gap or step back would cost a pass of its own.
  std::ranges::sort(pass.items, {}, [](const PassItem& item) { return item.session->sequence; });
}

void PassPlanner::choose_adapters() {
  wanted_.clear();
  going_.clear();
  for (const Session* session : sessions_.active()) wanted_.push_back(&session->shared->adapters);
  const AdapterScales& one = turns_.next(wanted_);
  for (Session* session : sessions_.active()) {
    if (session->shared->adapters == one) going_.push_back(session);
  }
}

// The oldest generation that must compute alone; nullptr: none.
Session* PassPlanner::next_suspect() const {
  Session* oldest = nullptr;
  for (Session* session : sessions_.active()) {
    if (session->in_cache >= session->suspect_until) continue;
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
