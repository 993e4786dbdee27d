#include "engine/pass/speculator.h"

#include <algorithm>
#include <span>
#include <utility>

namespace corral::engine {

Speculator::Speculator(std::unique_ptr<Drafter> drafter, const KvMemoryManager& kv, const CostModel& costs,
                       std::uint32_t batch, const WorkerOptions& options)
    : drafter_(std::move(drafter)),
      kv_(kv),
      costs_(costs),
      batch_(batch),
      max_tokens_(options.draft_tokens),
      max_running_(options.draft_active) {}

void Speculator::forget(SessionId session) {
  if (drafter_) drafter_->forget(session);
}

void Speculator::downsize() {
  if (drafter_) drafter_->downsize();
}

void Speculator::start_over() noexcept {
  try {
    downsize();
  } catch (...) {  // its cells stay as they are
  }
}

bool Speculator::may_draft(const Pass& pass, std::size_t running) const {
  if (!drafter_ || max_tokens_ == 0 || pass.measuring || pass.media || pass.alone || pass.items.empty()) return false;
  return kv_->divisible() && running <= max_running_ && pass.streams_only();
}

void Speculator::add(Pass& pass, std::size_t running) {
  if (!may_draft(pass, running)) return;
  const auto rows = static_cast<std::uint32_t>(pass.items.size());
  // In a unified layout, draft tokens use cells that are free after each session's own token. A pass that doesn't fit
  // would be refused first and computed again without them.
  const std::uint32_t free = kv_.shape().unified() ? kv_->free_cells() : batch_ + rows;
  const std::uint32_t room = free - std::min(free, rows);
  if (room == 0) return;
  draft(pass, room);
  if (!pass.drafts.empty()) choose(pass, room);
}

void Speculator::draft(Pass& pass, std::uint32_t room) {
  const auto rows = static_cast<std::uint32_t>(pass.items.size());
  for (PassItem& item : pass.items) {
    item.first_draft = static_cast<std::uint32_t>(pass.drafts.size());
    // The last token of an answer has no draft token behind it: all rows may become part of the answer.
    const std::uint32_t ends = std::max(1u, item.session->remaining()) - 1;
    const bool has_media = !item.session->media.empty();  // drafters read tokens only
    const std::uint32_t max = has_media ? 0 : std::min({max_tokens_, ends, room, room_behind(*item.session)});
    if (max > 0)
      drafter_->draft(item.session->shared->id, item.session->history,
                      {.max = max, .rows = rows, .costs = costs_.rows()}, pass.drafts);
    item.drafted = static_cast<std::uint32_t>(pass.drafts.size()) - item.first_draft;
  }
}

void Speculator::choose(Pass& pass, std::uint32_t room) {
  const auto rows = static_cast<std::uint32_t>(pass.items.size());
  lists_.clear();
  for (const PassItem& item : pass.items) {
    lists_.push_back(
        {.drafts = std::span(pass.drafts).subspan(item.first_draft, item.drafted), .max = room_behind(*item.session)});
  }
  // A split layout computes sequences with different numbers of tokens one after another.
  const std::uint32_t max = std::min({max_draft_tokens(rows, max_tokens_), batch_ - rows, room});
  choose_drafts(lists_, costs_.rows(), {.max = max, .equal = !kv_.shape().unified()});
  for (std::size_t i = 0; i < pass.items.size(); ++i) {
    PassItem& item = pass.items[i];
    item.drafted = std::min(item.drafted, lists_[i].rows);
    item.padding = lists_[i].rows - item.drafted;
  }
}

// Cells that a session may still take, beside the one for its pending token.
std::uint32_t Speculator::room_behind(const Session& session) const {
  const std::uint32_t cells = kv_->cells_per_sequence();
  return cells - std::min(cells, session.in_cache + 1);
}

}  // namespace corral::engine
