// The coroutine type of the house. A Task<T> starts when it is awaited, runs on the loop it was spawned on, and is
// cancelled from outside: from then on every await inside throws, so the stack unwinds and owners clean up.
//
// House rule: inside a `co_await` expression only names, moves and constructor calls; build arguments in the statement
// before (some compilers destroy temporaries of that expression twice).
#pragma once

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace corral::async {

namespace asio = boost::asio;

using Executor = asio::io_context::executor_type;

template <typename T = void>
using Task = asio::awaitable<T, Executor>;

// Completion tokens for Asio's own operations: use_task throws on failure, as_value returns (error_code, result...).
inline constexpr asio::use_awaitable_t<Executor> use_task;
inline constexpr asio::as_tuple_t<asio::use_awaitable_t<Executor>> as_value{use_task};

namespace detail {

// What a task ended with, for its caller on another loop. Cancellations, which are everyday, get an exception of their
// own, so that no two threads count references to one: the counting is the runtime's, where race detectors can't see
// it.
std::exception_ptr take_across(const std::exception_ptr& failure);

// Spawns on `target` and answers on `home`. Asio's own co_spawn across loops keeps the signal that cancels the task in
// the caller's memory, which a cancellation that comes as the task ends reaches after the caller has gone on. Here it
// belongs to both sides and is touched on `target` only.
template <typename T, typename Handler>
void spawn_across(Executor target, Executor home, Task<T> task, Handler handler) {
  auto signal = std::make_shared<asio::cancellation_signal>();
  auto slot = asio::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) {
    slot.assign(
        [signal, target](asio::cancellation_type type) { asio::post(target, [signal, type] { signal->emit(type); }); });
  }
  auto done = [home, signal, handler = std::move(handler)](const std::exception_ptr& failure, auto... value) mutable {
    auto answer = [handler = std::move(handler), failed = take_across(failure),
                   ... result = std::move(value)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(failed), std::move(result)...);
    };
    asio::post(home, std::move(answer));
  };
  asio::post(target, [target, signal, task = std::move(task), done = std::move(done)]() mutable {
    asio::co_spawn(target, std::move(task), asio::bind_cancellation_slot(signal->slot(), std::move(done)));
  });
}

}  // namespace detail

// Runs `task` on another loop and waits for it. Cancelling the caller cancels the task. Both loops must run.
template <typename T>
Task<T> run_on(Executor target, Task<T> task) {
  const Executor home = co_await asio::this_coro::executor;
  if (target == home) co_return co_await std::move(task);
  auto start = [target, home](auto handler, Task<T> work) {
    detail::spawn_across(target, home, std::move(work), std::move(handler));
  };
  using Token = const asio::use_awaitable_t<Executor>;
  if constexpr (std::is_void_v<T>) {
    co_await asio::async_initiate<Token, void(std::exception_ptr)>(std::move(start), use_task, std::move(task));
  } else {
    co_return co_await asio::async_initiate<Token, void(std::exception_ptr, T)>(std::move(start), use_task,
                                                                                std::move(task));
  }
}

}  // namespace corral::async
