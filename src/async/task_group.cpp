#include "async/task_group.h"

#include <list>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/system/system_error.hpp>

#include "async/event.h"
#include "base/log.h"

namespace corral::async {

struct TaskGroup::State {
  explicit State(Executor on) : executor(on), idle(on) { idle.set(); }

  struct Running {
    std::uint64_t number;
    asio::cancellation_signal signal;
  };

  // Cancels the tasks up to this number. Called on the loop.
  void cancel_until(std::uint64_t last) {
    // Emitting may end a task at once and remove its entry, so advance first.
    for (auto it = tasks.begin(); it != tasks.end() && it->number <= last;) {
      (it++)->signal.emit(asio::cancellation_type::terminal);
    }
  }

  Executor executor;
  std::list<Running> tasks;  // in the order of their start
  std::uint64_t started = 0;
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
  auto& running = state_->tasks.emplace_back(++state_->started);
  const auto entry = std::prev(state_->tasks.end());
  state_->idle.reset();
  auto done = [state = state_, entry, name](const std::exception_ptr& failure) {
    state->tasks.erase(entry);
    if (state->tasks.empty()) state->idle.set();
    report(name, failure);
  };
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(running.signal.slot(), std::move(done)));
}

void TaskGroup::cancel() {
  if (state_->tasks.empty()) return;
  // While the loop isn't running, its next turn would deliver the signal, but the task and its signal may be destroyed
  // by then. So the next turn itself emits it.
  auto emit = [state = state_, last = state_->started] { state->cancel_until(last); };
  asio::dispatch(state_->executor, std::move(emit));
}

Task<void> TaskGroup::join() { co_await state_->idle.wait(); }

std::size_t TaskGroup::running() const { return state_->tasks.size(); }

}  // namespace corral::async
