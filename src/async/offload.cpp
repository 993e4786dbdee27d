#include "async/offload.h"

#include <atomic>
#include <exception>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace corral::async {

void ThreadPool::post(std::move_only_function<void()> work) {
  asio::post(pool_, [this, job = std::move(work)]() mutable {
    const Job running(*this);
    job();
  });
}

void ThreadPool::post_after(std::chrono::milliseconds delay, std::move_only_function<void()> work) {
  auto timer = std::make_shared<asio::steady_timer>(pool_, delay);
  timer->async_wait([this, timer, job = std::move(work)](const boost::system::error_code& error) mutable {
    if (error) return;
    const Job running(*this);
    job();
  });
}

Task<void> ThreadPool::run_job(std::move_only_function<void()> job) {
  const auto home = co_await asio::this_coro::executor;
  auto start = [this, home](auto handler, std::move_only_function<void()> work) {
    auto unwanted = std::make_shared<std::atomic<bool>>(false);
    if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected())
      slot.assign([unwanted](asio::cancellation_type) { *unwanted = true; });
    auto run = [home, unwanted, handler = std::move(handler), work = std::move(work)]() mutable {
      std::exception_ptr failure;
      const bool skipped = *unwanted;
      try {
        if (!skipped) work();
      } catch (...) {
        failure = std::current_exception();
      }
      work = nullptr;  // destroys its data here, not on the caller's loop
      auto deliver = [handler = std::move(handler), skipped, failure]() mutable {
        asio::get_associated_cancellation_slot(handler).clear();
        if (skipped) failure = std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
        std::move(handler)(failure);
      };
      asio::post(home, std::move(deliver));
    };
    post(std::move(run));
  };
  using Token = const asio::use_awaitable_t<Executor>;
  co_await asio::async_initiate<Token, void(std::exception_ptr)>(std::move(start), use_task, std::move(job));
}

}  // namespace corral::async
