// Who has a place, and who has one before whom.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/kv/cell_ledger.h"
#include "simulation/engine/waits.h"

namespace corral::engine::simulation {
namespace {

bool active(const SessionView& view) {
  return view.state == SessionState::prefill || view.state == SessionState::decoding;
}

}  // namespace

void Waits::note_places() {
  for (auto& [id, waiter] : waiters_) waiter.had_place = std::exchange(waiter.has_place, false);
  if (pass_) {
    for (const PassView::Row& row : pass_->sessions) find(row.session)->has_place = true;
  }
  for (auto& [id, waiter] : waiters_) {
    if (waiter.had_place && !waiter.has_place) waiter.left_at = passes_;
  }
}

// Who lost its place behind the latest pass.
void Waits::note_left() {
  for (auto& [id, waiter] : waiters_) {
    if (waiter.has_place && !active(waiter.is)) {
      waiter.has_place = false;
      waiter.left_at = passes_ + 1;
    }
  }
}

// It ran, and in this round others got its cells.
bool Waits::lost_for_cells(const Waiter& one, bool lane_busy) const {
  return active(one.was) && one.is.state == SessionState::waiting && !may_want_lane(one, lane_busy);
}

bool Waits::may_want_lane(const Waiter& waiter, bool lane_busy) const {
  return lane_busy && rules_.lane_tokens && waiter.was.tokens >= *rules_.lane_tokens;
}

bool Waits::may_be_passed(const Waiter& waiter, bool lane_busy) const {
  return waiter.reading() || may_want_lane(waiter, lane_busy) || rules_.shares_beginning(waiter.was.id);
}

// Nobody gets a place, or into the lane, before somebody who stood before him.
Waits::Rule Waits::overtaken(bool lane_busy) {
  for (auto& [id, one] : waiters_) one.wanted_lane |= one.waits() && may_want_lane(one, lane_busy);
  for (const auto& [id, one] : waiters_) {
    if (one.has_place || !one.waits()) continue;
    for (const auto& [other_id, other] : waiters_) {
      if (other.number <= one.number || other.wanted_lane || active(other.was)) continue;
      const bool aside = !other.has_place && other.is.state == SessionState::prefill;
      if (!other.has_place && !aside) continue;
      if (!may_be_passed(one, lane_busy)) return fmt::format("session {} is passed over for session {}", id, other_id);
    }
  }
  return std::nullopt;
}

// Where cells run out, the newest goes; and not one that has just got its place.
Waits::Rule Waits::displaced(const Moment& moment, bool lane_busy) {
  if (moment.memories != moment_.memories) return std::nullopt;
  std::uint64_t lost = 0;
  for (const auto& [id, one] : waiters_) {
    lost += active(one.was) && one.is.state == SessionState::waiting ? 1 : 0;
    if (!lost_for_cells(one, lane_busy)) continue;
    for (const auto& [other_id, other] : waiters_) {
      if (other.has_place && other.number > one.number)
        return fmt::format("session {} loses its place, session {} is newer", id, other_id);
    }
  }
  if (moment.preemptions - moment_.preemptions > lost) return "somebody got a place and lost it in the same round";
  return std::nullopt;
}

// Who has a place was promised cells, whenever somebody got one.
Waits::Rule Waits::in_vain(const Moment& moment, bool lane_busy) {
  const auto admitted = [](const Waiter& one) {
    const bool stood = one.was.state == SessionState::waiting || one.was.state == SessionState::paused;
    return one.has_place && stood;
  };
  if (promised_ && moment.memories == moment_.memories) {
    const bool progressed = std::ranges::any_of(waiters_, [](const auto& entry) {
      const Waiter& one = entry.second;
      return one.was.generated >= one.generated_by_then + kPromisedTokens;
    });
    for (const auto& [id, one] : waiters_) {
      if (!progressed && lost_for_cells(one, lane_busy))
        return fmt::format("session {} loses its place, and nobody has said {} tokens since somebody got one", id,
                           kPromisedTokens);
    }
  }
  if (moment.memories != moment_.memories || (pass_ && status_ != DecodeStatus::ok)) promised_ = false;
  const bool anybody = std::ranges::any_of(waiters_, [&](const auto& entry) { return admitted(entry.second); });
  if (!anybody) return std::nullopt;
  promised_ = true;
  for (auto& [id, one] : waiters_) one.generated_by_then = one.was.generated;
  return std::nullopt;
}

// When places were given: who had one then may be in the lane now, or wait for it.
Waits::Rule Waits::empty_place(const Moment& moment) const {
  if (!pass_) return std::nullopt;
  // It may have been parts for this round only: then nobody can say how many.
  if (moment.memories > moment_.memories + 1) return std::nullopt;
  const bool lane_busy = moment_.lane_busy || moment.lane_busy;
  std::uint32_t places = rules_.places - (lane_busy ? 1 : 0);
  for (const std::uint32_t parts : {moment_.parts, moment.parts}) {
    if (parts > 0) places = std::min(places, parts);
  }
  const auto taken = std::ranges::count_if(waiters_, [&](const auto& entry) {
    const Waiter& one = entry.second;
    // It may have had one and come to its end before the pass: its part was too small.
    const bool ended = one.was.state == SessionState::waiting && !one.runs();
    return one.has_place || active(one.was) || active(one.is) || may_want_lane(one, lane_busy) || ended;
  });
  if (taken >= static_cast<std::ptrdiff_t>(places)) return std::nullopt;
  // Who finds no cells is passed by nobody, also one whose reader was slow until now.
  std::uint64_t first = ~std::uint64_t{0};
  for (const auto& [id, one] : waiters_) {
    const bool stands = one.is.state == SessionState::waiting && !one.has_place;
    if (stands && may_want_cells(one, lane_busy)) first = std::min(first, one.number);
  }
  for (const auto& [id, one] : waiters_) {
    if (one.waits() && !one.has_place && one.number < first && !may_be_passed(one, lane_busy))
      return fmt::format("session {} waits, with {} of {} places taken", id, taken, places);
  }
  return std::nullopt;
}

// There may be too few cells for it beside those who have a place, and what was promised to them.
bool Waits::may_want_cells(const Waiter& first, bool lane_busy) const {
  const auto max = [](const Waiter& one) {
    return std::uint64_t{std::max(one.was.tokens, one.is.tokens)} + kPromisedTokens + 1;
  };
  std::uint64_t cells = max(first);
  for (const auto& [id, one] : waiters_) {
    // One that got a place in this round may have gone back for the lane.
    const bool counts = one.has_place || active(one.was) || active(one.is) || may_want_lane(one, lane_busy);
    if (&one != &first && counts) cells += max(one);
  }
  return cells > rules_.cells;
}

}  // namespace corral::engine::simulation
