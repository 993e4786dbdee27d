// Who has a place, and who has one before whom.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

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

// The latest pass didn't fit, and the memory stayed what it was: somebody has to go.
bool Waits::lost_for_cells(const Moment& moment) const {
  return pass_ && status_ == DecodeStatus::no_room && moment.memories == memory_;
}

// Cells have run out when somebody loses his place for want of them, or comes from the lane and finds none: until
// somebody ends or waits for his reader.
void Waits::note_cells(const Moment& moment) {
  const bool lost = lost_for_cells(moment);
  bool ran_out = false, gave_up = false;
  for (const auto& [id, waiter] : waiters_) {
    const bool waits = waiter.is.state == SessionState::waiting;
    const bool paused = waiter.is.state == SessionState::paused && waiter.was.state != SessionState::paused;
    const bool ended = waiter.ran() && !waiter.runs();
    gave_up = gave_up || ended || paused;
    ran_out = ran_out || (waits && (pass_ ? lost && waiter.has_place : active(waiter.was)));
  }
  cells_ran_out_ = ran_out || (cells_ran_out_ && !gave_up);
}

bool Waits::may_want_lane(const Waiter& waiter, bool lane_busy) const {
  return lane_busy && rules_.lane_tokens && waiter.was.tokens >= *rules_.lane_tokens;
}

bool Waits::may_be_passed(const Waiter& waiter, bool lane_busy) const {
  return may_want_lane(waiter, lane_busy) || rules_.shares_beginning(waiter.was.id);
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

// Where cells run out, the newest goes.
Waits::Rule Waits::displaced(const Moment& moment) const {
  if (!lost_for_cells(moment)) return std::nullopt;
  for (const auto& [id, one] : waiters_) {
    if (!one.has_place || one.is.state != SessionState::waiting) continue;
    for (const auto& [other_id, other] : waiters_) {
      if (other.has_place && other.number > one.number)
        return fmt::format("session {} loses its place, session {} is newer", id, other_id);
    }
  }
  return std::nullopt;
}

// When places were given: who had one then may be in the lane now, or wait for it.
Waits::Rule Waits::empty_place(const Moment& moment) const {
  if (cells_ran_out_ || !pass_) return std::nullopt;
  // It may have been parts for this round only: then nobody can say how many.
  if (moment.memories > moment_.memories + 1) return std::nullopt;
  const bool lane_busy = moment_.lane_busy || moment.lane_busy;
  std::uint32_t places = rules_.places - (lane_busy ? 1 : 0);
  for (const std::uint32_t parts : {moment_.parts, moment.parts}) {
    if (parts > 0) places = std::min(places, parts);
  }
  const auto taken = std::ranges::count_if(waiters_, [&](const auto& entry) {
    const Waiter& one = entry.second;
    return one.has_place || active(one.was) || active(one.is) || may_want_lane(one, lane_busy);
  });
  if (taken >= static_cast<std::ptrdiff_t>(places)) return std::nullopt;
  for (const auto& [id, one] : waiters_) {
    if (one.waits() && !one.has_place && !may_be_passed(one, lane_busy))
      return fmt::format("session {} waits, with {} of {} places taken", id, taken, places);
  }
  return std::nullopt;
}

}  // namespace corral::engine::simulation
