// The coroutine type of this program. A Task<T> starts when it is awaited, runs on the loop it was spawned on, and is
// cancelled from outside: from then on every await inside throws, so the stack unwinds and owners clean up.
//
// Rule: inside a `co_await` expression only names, moves and constructor calls; build arguments in the statement before
// (some compilers destroy temporaries of that expression twice).
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
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

// Stores the result of `task` in `result`, which outlives it. So only this function is compiled for each type of
// result: Asio's operations are costly to compile.
template <typename T>
Task<void> store_result(Task<T> task, std::optional<T>* result) {
  result->emplace(co_await std::move(task));
}
// The same for a `result` with several owners or threads.
template <typename T>
Task<void> store_shared(Task<T> task, std::shared_ptr<std::optional<T>> result) {
  result->emplace(co_await std::move(task));
}

// run_on() for a task without a result, and a `target` that is another loop.
Task<void> run_across(Executor target, Task<void> task);

}  // namespace detail

// Runs `task` on another loop and waits for it. Cancelling the caller cancels the task. Both loops must run.
template <typename T>
Task<T> run_on(Executor target, Task<T> task) {
  const Executor home = co_await asio::this_coro::executor;
  if (target == home) co_return co_await std::move(task);
  if constexpr (std::is_void_v<T>) {
    co_await detail::run_across(target, std::move(task));
  } else {
    auto result = std::make_shared<std::optional<T>>();
    auto stored = detail::store_shared(std::move(task), result);
    co_await detail::run_across(target, std::move(stored));
    co_return std::move(**result);
  }
}

}  // namespace corral::async
