#include "async/task_group.h"

#include <list>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/system_error.hpp>

#include "async/event.h"
#include "base/log.h"

namespace corral::async {

struct TaskGroup::State {
  explicit State(Executor on) : executor(on), idle(on) { idle.set(); }

  Executor executor;
  std::list<asio::cancellation_signal> signals;
  Event idle;
};

namespace {

void report(const char* name, const std::exception_ptr& failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    if (error.code() != asio::error::operation_aborted) log::error("async", "task {} failed: {}", name, error.what());
  } catch (const std::exception& error) {
    log::error("async", "task {} failed: {}", name, error.what());
  }
}

}  // namespace

TaskGroup::TaskGroup(Executor executor) : state_(std::make_shared<State>(executor)) {}

TaskGroup::~TaskGroup() { cancel(); }

void TaskGroup::spawn(const char* name, Task<void> task) {
  auto& signal = state_->signals.emplace_back();
  const auto entry = std::prev(state_->signals.end());
  state_->idle.reset();
  auto done = [state = state_, entry, name](const std::exception_ptr& failure) {
    state->signals.erase(entry);
    if (state->signals.empty()) state->idle.set();
    report(name, failure);
  };
  asio::co_spawn(state_->executor, std::move(task), asio::bind_cancellation_slot(signal.slot(), std::move(done)));
}

void TaskGroup::cancel() {
  // Emitting may end a task at once and take its entry along: step past it first.
  for (auto it = state_->signals.begin(); it != state_->signals.end();) (it++)->emit(asio::cancellation_type::terminal);
}

Task<void> TaskGroup::join() { co_await state_->idle.wait(); }

std::size_t TaskGroup::running() const { return state_->signals.size(); }

}  // namespace corral::async
