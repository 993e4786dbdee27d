// Waits for events on one loop.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "async/task.h"

namespace corral::async {

// A flag that tasks can wait for. Stays set until reset(). Only for use on its loop; outlives its waiters.
class Event {
 public:
  explicit Event(Executor executor) : wake_(executor, asio::steady_timer::time_point::max()) {}

  void set() {
    set_ = true;
    wake_.cancel();
  }
  void reset() { set_ = false; }
  bool is_set() const { return set_; }

  Task<void> wait() {
    while (!set_) co_await wake_.async_wait(as_value);
  }

 private:
  using Timer =
      asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;

  bool set_ = false;
  Timer wake_;
};

// A queue between tasks of one loop. receive() returns nullopt once it is closed and empty.
template <typename T>
class Channel {
 public:
  explicit Channel(Executor executor) : ready_(executor) {}

  void send(T value) {
    queue_.push_back(std::move(value));
    ready_.set();
  }
  void close() {
    closed_ = true;
    ready_.set();
  }
  bool closed() const { return closed_; }

  Task<std::optional<T>> receive() {
    while (queue_.empty() && !closed_) {
      ready_.reset();
      co_await ready_.wait();
    }
    if (queue_.empty()) co_return std::nullopt;
    std::optional<T> value(std::move(queue_.front()));
    queue_.pop_front();
    co_return value;
  }

 private:
  std::deque<T> queue_;
  bool closed_ = false;
  Event ready_;
};

}  // namespace corral::async
