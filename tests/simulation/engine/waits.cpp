#include "simulation/engine/waits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/schedule/row_costs.h"

namespace corral::engine::simulation {

void Waits::Work::add(const Work& other) {
  answers += other.answers;
  prompt += other.prompt;
  prompts += other.prompts;
}

bool Waits::Waiter::ran() const { return was.state != SessionState::idle && was.state != SessionState::parked; }
bool Waits::Waiter::runs() const { return is.state != SessionState::idle && is.state != SessionState::parked; }

// What has cells and a place keeps them, or it is counted again.
Waits::Work Waits::Waiter::own() const {
  const std::uint64_t answer = max - std::min(max, is.generated);
  const bool keeps = has_place && is.state != SessionState::waiting && is.state != SessionState::paused;
  if (!keeps) return {.answers = answer, .prompt = is.tokens, .prompts = 1};
  if (is.state == SessionState::decoding) return {.answers = answer};
  return {.answers = answer, .prompt = is.tokens - std::min(is.tokens, is.cached_tokens), .prompts = 1};
}

Waits::Waiter* Waits::find(SessionId session) {
  const auto found = waiters_.find(session.value());
  return found == waiters_.end() ? nullptr : &found->second;
}

void Waits::started(SessionId session, std::uint32_t max) {
  Waiter& waiter = waiters_[session.value()] = {};
  waiter.number = ++last_number_;
  waiter.max = max;
}

void Waits::sum_up() {
  all_ = {};
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.runs()) all_.add(waiter.own());
  }
}

void Waits::begin(Waiter& waiter) {
  waiter.began = passes_;
  waiter.there = last_number_;
  waiter.passed_by.clear();
  waiter.work = all_;
  waiter.halves = waiter.largest_half = waiter.others = 0;
}

void Waits::before(const Moment& moment) {
  if (moment.fresh_starts != moment_.fresh_starts) start_afresh();
  moment_ = moment;
  pass_.reset();
  for (auto& [id, waiter] : waiters_) waiter.was = std::exchange(waiter.is, {});  // it may have ended
  for (const SessionView& view : moment.sessions) {
    if (Waiter* const waiter = find(view.id)) waiter->is = view;
  }
  note_left();
  for (auto& [id, waiter] : waiters_) waiter.was = waiter.is;
  // Where somebody has ended there may be cells for others now, who come and find too few.
  if (std::erase_if(waiters_, [](const auto& entry) { return !entry.second.runs(); }) > 0) in_vain_ = 0;
  sum_up();
  for (auto& [id, waiter] : waiters_) {
    if (std::exchange(waiter.fresh, false)) begin(waiter);
  }
}

void Waits::pass(PassView pass, DecodeStatus status, std::uint64_t memory) {
  pass_ = std::move(pass);
  status_ = status;
  memory_ = memory;
}

// Those who have a place while it has none.
void Waits::count_those_before() {
  for (auto& [id, one] : waiters_) {
    if (one.has_place || one.was.state == SessionState::paused) continue;
    for (const auto& [other_id, other] : waiters_) {
      if (!other.has_place || one.counts(other)) continue;
      one.passed_by.insert(other.number);
      one.work.add({.answers = other.max, .prompt = other.was.tokens, .prompts = 1});
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
      if (other.has_place) one.work.add({.prompt = other.was.tokens, .prompts = 1});
    }
    if (one.has_place) max_alone_ += 2 * (one.was.tokens / pass_->limits.tokens + 1);
  }
}

// The pass has other adapters than this session, which has a place: it wasn't its turn (adapter_turns.h).
bool Waits::is_other(std::uint64_t session) const {
  return std::ranges::any_of(pass_->sessions,
                             [&](const PassView::Row& row) { return row.other && row.session.value() == session; });
}

// A pass that did something.
Waits::Rule Waits::count_pass() {
  const PassSum sum = sum_of(*pass_);
  if (auto rule = count_uncounted(sum)) return rule;
  sum_up();
  for (auto& [id, one] : waiters_) {
    if (!one.runs() || is_other(id)) continue;
    if (one.paused() || one.is.generated > one.was.generated) {
      begin(one);
    } else if (!pass_->alone && sum.wanting > 0) {
      one.halves += sum.half();
      one.largest_half = std::max<std::uint64_t>(one.largest_half, sum.half());
      if (one.halves > one.work.prompt + one.work.prompts * one.largest_half)
        return fmt::format(
            "session {} waits: half of the room was {} tokens, those who were there had {}, in {} prompts", id,
            one.halves, one.work.prompt, one.work.prompts);
    } else if (!pass_->alone && ++one.others > one.work.answers) {
      return fmt::format("session {} waits: {} passes without prompts, those who were there had {} tokens to say", id,
                         one.others, one.work.answers);
    }
  }
  return std::nullopt;
}

// Running sessions that don't go all at once.
Waits::Rule Waits::count_turns() {
  for (const PassView::Row& still : pass_->sessions) {
    if (still.other) continue;
    std::set<std::uint64_t>& gone = find(still.session)->gone;
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

// Those that hold prompts back, with all threads and with those that the lane leaves; and those of one alone.
Waits::Rule Waits::count_uncounted(const PassSum& sum) {
  if (pass_->alone && ++alone_ > max_alone_) return fmt::format("{} passes of one alone", alone_);
  if (pass_->alone || !sum.held()) return std::nullopt;
  const std::uint64_t max = 2 * rules_.places * (1 + good_passes_ / RowCosts::kForgotten);
  if (++held_ > max) return fmt::format("prompts were held back in {} of {} passes", held_, good_passes_);
  return std::nullopt;
}

// Somebody always gets on, or comes to an end.
Waits::Rule Waits::progress(const Moment& moment, bool computed) {
  if (computed) {
    in_vain_ = status_ == DecodeStatus::ok ? 0 : in_vain_ + 1;
    if (in_vain_ > rules_.sequences + rules_.places + 2) return fmt::format("{} passes in a row got nowhere", in_vain_);
    return std::nullopt;
  }
  if (moment_.lane_busy || moment.lane_busy || moment_.explaining || moment.explaining) return std::nullopt;
  for (const auto& [id, one] : waiters_) {
    if (one.waits() && !one.reading()) return fmt::format("session {} waits, and nobody runs", id);
  }
  return std::nullopt;
}

// Something went wrong that nobody foresaw: everything begins again, for those who are left.
void Waits::start_afresh() {
  pass_.reset();
  promised_ = false;
  in_vain_ = 0;
  for (auto& [id, waiter] : waiters_) {
    waiter.has_place = waiter.had_place = waiter.wanted_lane = false;
    waiter.fresh = true;
  }
}

Waits::Rule Waits::after(const Moment& moment, bool computed) {
  for (const SessionView& view : moment.sessions) {
    if (Waiter* const waiter = find(view.id)) waiter->is = view;
  }
  if (moment.fresh_starts != moment_.fresh_starts) {
    start_afresh();
    return std::nullopt;
  }
  if (auto rule = progress(moment, computed)) return rule;
  const bool lane_busy = moment_.lane_busy || moment.lane_busy;
  passes_ += pass_ ? 1 : 0;
  note_places();
  if (auto rule = overtaken(lane_busy)) return rule;
  if (auto rule = displaced(moment, lane_busy)) return rule;
  if (auto rule = in_vain(moment, lane_busy)) return rule;
  if (auto rule = empty_place(moment)) return rule;
  if (!pass_) return std::nullopt;
  count_those_before();
  count_lost(status_ == DecodeStatus::aborted || status_ == DecodeStatus::failed ||
             moment.memories != moment_.memories);
  if (status_ != DecodeStatus::ok) return std::nullopt;
  ++good_passes_;
  if (auto rule = count_turns()) return rule;
  return count_pass();
}

}  // namespace corral::engine::simulation
