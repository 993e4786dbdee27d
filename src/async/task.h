// The coroutine type of the house. A Task<T> starts when it is awaited, runs on the loop it was spawned on, and is
// cancelled from outside: from then on every await inside throws, so the stack unwinds and owners clean up.
//
// House rule: inside a `co_await` expression only names, moves and constructor calls; build arguments in the statement
// before (some compilers destroy temporaries of that expression twice).
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
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

// Runs `task` on another loop and waits for it. Cancelling the caller cancels the task.
template <typename T>
Task<T> run_on(Executor target, Task<T> task) {
  if (target == co_await asio::this_coro::executor) co_return co_await std::move(task);
  co_return co_await asio::co_spawn(target, std::move(task), use_task);
}

}  // namespace corral::async
