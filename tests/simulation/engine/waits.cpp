#include "simulation/engine/waits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/row_costs.h"

namespace corral::engine::simulation {

void Waits::Work::add(const Work& other) {
  answers += other.answers;
  prompt += other.prompt;
  prompts += other.prompts;
}

bool Waits::Waiter::runs() const { return is.state != SessionState::idle && is.state != SessionState::parked; }

Waits::Work Waits::Waiter::own() const {
  return {.answers = most - std::min(most, is.generated), .prompt = is.tokens, .prompts = 1};
}

void Waits::started(SessionId session, std::uint32_t most) {
  Waiter& waiter = waiters_[session.value()] = {};
  waiter.number = ++last_number_;
  waiter.most = most;
}

void Waits::begin(Waiter& waiter) {
  waiter.there = last_number_;
  waiter.passed_by.clear();
  waiter.work = all_;
  waiter.passes = 0;
  waiter.half = 0;
  waiter.began = passes_;
}

void Waits::before(const Moment& moment) {
  moment_ = moment;
  pass_.reset();
  for (auto& [id, waiter] : waiters_) waiter.is = {};  // it may have ended
  for (const SessionView& view : moment.sessions) {
    const auto found = waiters_.find(view.id.value());
    if (found != waiters_.end()) found->second.was = found->second.is = view;
  }
  all_ = {};
  std::erase_if(waiters_, [](const auto& entry) { return !entry.second.runs(); });
  for (const auto& [id, waiter] : waiters_) all_.add(waiter.own());
  for (auto& [id, waiter] : waiters_) {
    if (std::exchange(waiter.fresh, false)) begin(waiter);
  }
}

void Waits::pass(PassView pass, DecodeStatus status) {
  pass_ = std::move(pass);
  status_ = status;
}

// Who has a place in this pass.
void Waits::note_places() {
  for (auto& [id, waiter] : waiters_) waiter.had_place = std::exchange(waiter.has_place, false);
  for (const PassView::Row& row : pass_->sessions) waiters_.at(row.session.value()).has_place = true;
  for (auto& [id, waiter] : waiters_) {
    if (waiter.had_place && !waiter.has_place) waiter.left_at = passes_;
  }
}

bool Waits::may_be_passed(const Waiter& waiter, bool lane_busy) const {
  if (lane_busy && rules_.lane_tokens && waiter.was.tokens >= *rules_.lane_tokens) return true;
  return rules_.shares_beginning(waiter.was.id);
}

// Nobody gets a place, or into the lane, before somebody who stood before him.
Waits::Rule Waits::overtaken(bool lane_busy) const {
  for (const auto& [id, one] : waiters_) {
    if (one.has_place || one.was.state != SessionState::waiting || one.is.state != SessionState::waiting) continue;
    for (const auto& [other_id, other] : waiters_) {
      const bool behind = other.was.state == SessionState::paused ||
                          (other.was.state == SessionState::waiting && other.was.queue_place > one.was.queue_place);
      const bool aside = !other.has_place && other.is.state == SessionState::prefill;
      if (!behind || (!other.has_place && !aside)) continue;
      if (!may_be_passed(one, lane_busy)) return fmt::format("session {} is passed over for session {}", id, other_id);
    }
  }
  return std::nullopt;
}

// Those who have a place while it has none.
void Waits::count_those_before() {
  for (auto& [id, one] : waiters_) {
    if (one.has_place || one.was.state == SessionState::paused) continue;
    for (const auto& [other_id, other] : waiters_) {
      if (!other.has_place || one.counts(other)) continue;
      one.passed_by.insert(other.number);
      one.work.add(other.own());
    }
  }
}

// Prompts that may have to be computed once more: those of younger ones where an older one comes late, and its own if
// it was there before; or everybody's.
void Waits::count_lost(bool everything) {
  for (auto& [id, one] : waiters_) {
    for (const auto& [late_id, late] : waiters_) {
      if (!late.has_place || late.had_place || !one.counts(late)) continue;
      for (const auto& [young_id, young] : waiters_) {
        const bool again = &young == &late ? late.left_at > one.began : young.has_place && young.number > late.number;
        if (again) one.work.add({.prompt = young.was.tokens, .prompts = 1});
      }
    }
    if (!everything) continue;
    for (const auto& [other_id, other] : waiters_) {
      // Once alone, to see who is to blame, and once more.
      if (other.has_place) one.work.add({.prompt = 2ull * other.is.tokens, .prompts = 2});
    }
  }
}

std::uint64_t Waits::bound(const Waiter& waiter) const {
  const Work& work = waiter.work;
  const std::uint64_t prefill = waiter.half > 0 ? work.prompt / waiter.half + work.prompts : 0;
  return work.answers + prefill + rules_.places;
}

// A pass that did something.
Waits::Rule Waits::count_pass() {
  const PassSum sum = sum_of(*pass_);
  all_ = {};
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.runs()) all_.add(waiter.own());
  }
  const bool prompts = pass_->alone || sum.wanting > 0;
  const std::uint32_t half = pass_->alone ? pass_->limits.tokens : sum.half();
  for (auto& [id, one] : waiters_) {
    if (!one.runs()) continue;
    const bool paused = one.was.state == SessionState::paused || one.is.state == SessionState::paused;
    if (paused || one.is.generated > one.was.generated) {
      begin(one);
      continue;
    }
    if (!pass_->alone && sum.held()) continue;
    if (prompts) one.half = one.half == 0 ? half : std::min(one.half, half);
    if (++one.passes > bound(one))
      return fmt::format("session {} has waited for {} passes, where {} are enough for all that was there", id,
                         one.passes, bound(one));
  }
  return pass_->alone ? std::nullopt : count_held(sum);
}

// Running sessions that don't go all at once take turns: nobody goes twice while another stands still.
Waits::Rule Waits::count_turns() {
  for (const PassView::Row& still : pass_->sessions) {
    std::set<std::uint64_t>& gone = waiters_.at(still.session.value()).gone;
    if (!still.state.decoding || still.tokens > 0) {
      gone.clear();
      continue;
    }
    for (const PassView::Row& row : pass_->sessions) {
      if (!pass_->alone && row.tokens > 0 && !gone.insert(row.session.value()).second)
        return fmt::format("session {} runs and stands still, session {} goes twice", still.session.value(),
                           row.session.value());
    }
  }
  return std::nullopt;
}

// With all threads and with those that the lane leaves.
Waits::Rule Waits::count_held(const PassSum& sum) {
  if (!sum.held()) return std::nullopt;
  ++held_;
  const std::uint64_t most = 2 * rules_.places * (1 + good_passes_ / RowCosts::kForgotten);
  if (held_ <= most) return std::nullopt;
  return fmt::format("prompts were held back in {} of {} passes", held_, good_passes_);
}

// Somebody always gets on, or comes to an end.
Waits::Rule Waits::progress(const Moment& moment, bool computed) {
  if (computed) {
    const bool ended = std::ranges::any_of(waiters_, [](const auto& entry) { return !entry.second.runs(); });
    in_vain_ = status_ == DecodeStatus::ok || ended ? 0 : in_vain_ + 1;
    const std::uint32_t most = rules_.sequences + rules_.places + 2;
    if (in_vain_ > most) return fmt::format("{} passes in a row got nowhere", in_vain_);
    return std::nullopt;
  }
  if (moment_.lane_busy || moment.lane_busy) return std::nullopt;
  for (const auto& [id, one] : waiters_) {
    if (one.was.state == SessionState::waiting && one.is.state == SessionState::waiting)
      return fmt::format("session {} waits, and nobody runs", id);
  }
  return std::nullopt;
}

Waits::Rule Waits::after(const Moment& moment, bool computed) {
  for (const SessionView& view : moment.sessions) {
    const auto found = waiters_.find(view.id.value());
    if (found != waiters_.end()) found->second.is = view;
  }
  if (auto rule = progress(moment, computed)) return rule;
  if (!pass_) return std::nullopt;
  ++passes_;
  note_places();
  if (auto rule = overtaken(moment_.lane_busy || moment.lane_busy)) return rule;
  count_those_before();
  count_lost(status_ == DecodeStatus::aborted || status_ == DecodeStatus::failed ||
             moment.memories != moment_.memories);
  if (status_ != DecodeStatus::ok) return std::nullopt;
  ++good_passes_;
  if (auto rule = count_turns()) return rule;
  return count_pass();
}

}  // namespace corral::engine::simulation
