#include "async/task.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace corral::async {
namespace {

// The exception of a task, for its caller on another loop. Cancellations are frequent and get a new exception, so that
// no two threads share a reference count: race detectors can't see the runtime's counting.
std::exception_ptr take_across(const std::exception_ptr& failure) {
  if (!failure) return nullptr;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    if (error.code() != asio::error::operation_aborted) return failure;
  } catch (...) {
    return failure;
  }
  return std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
}

// Spawns on `target` and completes on `home`. Asio's own co_spawn across loops keeps the cancellation signal in the
// caller's memory. A cancellation at the task's end can reach that memory after the caller has resumed. Here both sides
// own the signal, and only `target` uses it.
template <typename Handler>
void spawn_across(Executor target, Executor home, Task<void> task, Handler handler) {
  auto signal = std::make_shared<asio::cancellation_signal>();
  auto slot = asio::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) {
    slot.assign(
        [signal, target](asio::cancellation_type type) { asio::post(target, [signal, type] { signal->emit(type); }); });
  }
  auto done = [home, signal, handler = std::move(handler)](const std::exception_ptr& failure) mutable {
    auto complete = [handler = std::move(handler), failed = take_across(failure)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(failed));
    };
    asio::post(home, std::move(complete));
  };
  asio::post(target, [target, signal, task = std::move(task), done = std::move(done)]() mutable {
    asio::co_spawn(target, std::move(task), asio::bind_cancellation_slot(signal->slot(), std::move(done)));
  });
}

}  // namespace

Task<void> detail::run_across(Executor target, Task<void> task) {
  const Executor home = co_await asio::this_coro::executor;
  auto start = [target, home](auto handler, Task<void> work) {
    spawn_across(target, home, std::move(work), std::move(handler));
  };
  using Token = const asio::use_awaitable_t<Executor>;
  co_await asio::async_initiate<Token, void(std::exception_ptr)>(std::move(start), use_task, std::move(task));
}

}  // namespace corral::async
