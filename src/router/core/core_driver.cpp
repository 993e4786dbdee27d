#include "router/core/core_driver.h"

#include <exception>

#include <fmt/format.h>

#include "base/log.h"
#include "router/base/errors.h"

namespace corral::router {
namespace {

// After a failed step the core gets a tick, to decide again.
constexpr Millis kLookAgain{1000};

Error inside_error(const char* what) {
  return {make_error_code(errc::internal), fmt::format("{} failed inside the server: see its log", what)};
}

}  // namespace

CoreDriver::Ticket::Ticket(CoreDriver& driver) : driver_(driver), id(++driver.last_ticket_), done_(driver.home_) {
  driver_.tickets_[id] = this;
}

CoreDriver::Ticket::~Ticket() {
  driver_.tickets_.erase(id);
  if (!answer_) driver_.dispatch(residency::CancelTicket{id});
  // Granted, but its waiter is gone: no other code would return the lease.
  if (const auto* granted = answer_ ? std::get_if<residency::Granted>(&*answer_) : nullptr)
    driver_.return_lease(granted->lease);
}

void CoreDriver::Ticket::set(Answer answer) {
  answer_ = std::move(answer);
  done_.set();
}

async::Task<Answer> CoreDriver::Ticket::wait() {
  co_await done_.wait();
  co_return std::exchange(answer_, Error(make_error_code(errc::shutting_down), "answered already")).value();
}

CoreDriver::CoreDriver(async::Executor home, async::Timers& timers, residency::Core core, ActionExecutor& executor)
    : home_(home), timers_(timers), executor_(executor), core_(std::move(core)), alarm_(home) {}

bool CoreDriver::goes_well(const char* what, auto&& work) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    try {
      log::error("router", "{} failed: {}", what, error.what());
    } catch (...) {  // no memory for a log line; the program continues
    }
  } catch (...) {
    // An unknown exception has no text.
  }
  return false;
}

void CoreDriver::dispatch(residency::Event event) noexcept {
  if (!goes_well("queueing an event", [&] { events_.push_back(std::move(event)); })) return;
  if (dispatching_) return;
  dispatching_ = true;
  if (unarmed_) arm(*std::exchange(unarmed_, std::nullopt));
  while (!events_.empty()) {
    const auto batch = std::exchange(events_, {});
    for (const auto& next : batch) step(next);
  }
  dispatching_ = false;
}

void CoreDriver::step(const residency::Event& event) {
  actions_.clear();
  const bool decided = goes_well("a decision", [&] { decide(event, actions_); });
  for (const auto& action : actions_) perform(action);
  if (!decided) {
    answer_undecided(event);
    arm(timers_.now() + kLookAgain);
  }
  goes_well("the notification of changes", [this] { executor_.stepped(core_.revision()); });
}

void CoreDriver::perform(const residency::Action& action) {
  const auto run = [this](const auto& known) {
    using Known = std::decay_t<decltype(known)>;
    if constexpr (std::is_same_v<Known, residency::WakeAt>) {
      arm(known.time);
    } else if constexpr (std::is_same_v<Known, residency::Rejected>) {
      answer(known.ticket, known.error);
    } else if constexpr (std::is_same_v<Known, residency::PinChanged>) {
      goes_well("saving a pin", [&] { executor_.on(known); });
      if (known.ticket) answer(*known.ticket, known);
    } else if constexpr (std::is_constructible_v<Answer, Known>) {
      answer(known.ticket, known);
    } else if (!goes_well("an action", [&] { executor_.on(known); })) {
      failed(known);
    }
  };
  goes_well("an action's failure", [&] { std::visit(run, action); });
}

void CoreDriver::answer(residency::TicketId ticket, Answer answer) {
  const auto found = tickets_.find(ticket);
  if (found != tickets_.end()) return found->second->set(std::move(answer));
  // Its CancelTicket was lost: no other code would return the lease.
  if (const auto* granted = std::get_if<residency::Granted>(&answer)) return_lease(granted->lease);
}

// Without this answer, a caller whose event couldn't be decided would wait permanently.
void CoreDriver::answer_undecided(const residency::Event& event) {
  const auto ask = [this](const auto& question) {
    if constexpr (requires { question.ticket; }) {
      if constexpr (std::is_same_v<std::decay_t<decltype(question)>, residency::CancelTicket>) return;
      const auto& state = core_.state();
      const auto has_it = [&](const auto& pending) { return pending.ticket == question.ticket; };
      const bool known = state.waiting.contains(question.ticket) || std::ranges::any_of(state.unloads, has_it) ||
                         std::ranges::any_of(state.reliefs, has_it);
      if (!known) answer(question.ticket, inside_error("the request"));
    }
  };
  goes_well("an answer", [&] { std::visit(ask, event); });
}

void CoreDriver::failed(const residency::CheckLoad& action) {
  dispatch(residency::CheckFailed{action.instance, action.check, inside_error("the check of the model's files")});
}

// `invalid`, so that no second attempt evicts other models.
void CoreDriver::failed(const residency::StartLoad& action) {
  dispatch(
      residency::LoadFailed{action.instance, residency::LoadFault::invalid, inside_error("the start of the model")});
}

void CoreDriver::arm(std::optional<MonoTime> time) {
  const bool armed = goes_well("setting the alarm", [&] {
    alarm_.cancel();
    if (time) alarm_.spawn("alarm", wake(*time));
  });
  if (!armed) unarmed_ = time;
}

async::Task<void> CoreDriver::wake(MonoTime when) {
  co_await timers_.sleep_until(when);
  dispatch(residency::Tick{});
}

std::optional<residency::Core::Lease> CoreDriver::try_acquire(const ModelName& model, residency::RequestOrigin origin) {
  const auto lease = core_.try_acquire(model, now(), origin);
  if (lease) goes_well("the notification of changes", [this] { executor_.stepped(core_.revision()); });
  return lease;
}

async::Task<void> CoreDriver::stop() {
  alarm_.cancel();
  co_await alarm_.join();
}

std::vector<std::pair<std::size_t, const char*>> CoreDriver::leftovers() const {
  const auto& state = core_.state();
  return {{state.instances.size(), "instances"},
          {state.leases.size(), "leases"},
          {tickets_.size(), "tickets"},
          {state.waiting.size(), "waiters"},
          {state.unloads.size(), "unloads"},
          {alarm_.running(), "alarms"},
          {events_.size(), "events"}};
}

}  // namespace corral::router
