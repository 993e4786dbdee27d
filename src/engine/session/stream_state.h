// The shared middle of a stream: the decode thread writes, the handle reads. What is unread is one chunk that grows
// (or the chunks as they came), and the terminal item behind it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/session/stream.h"
#include "engine/threads/waker.h"

namespace corral::engine {

class StreamState {
 public:
  // What the reader's side does to the session; called without a lock held. Both must be callable for as long as the
  // stream lives, also when the service is gone.
  struct Owner {
    std::function<void()> drained;    // a full stream was read
    std::function<void()> cancelled;  // the reader asked for an end, or left
  };

  enum class Unread { joined, apart };
  // capacity: unread tokens from which on full() holds, until half of them are read.
  StreamState(std::uint32_t capacity, Owner owner, Unread unread = Unread::joined)
      : capacity_(capacity), apart_(unread == Unread::apart), owner_(std::move(owner)) {}

  // --- the decode thread ---
  void push(StreamChunk chunk);
  // The terminal item; once.
  void finish(Finish finish);
  bool full() const;

  // --- the reader ---
  std::optional<StreamChunk> next();
  std::optional<StreamChunk> try_next();
  bool finished() const;
  void set_waker(std::move_only_function<void()> waker);
  void cancel();
  void abandon();  // the handle goes away

 private:
  bool readable() const { return !unread_.empty() || finish_.has_value(); }
  StreamChunk take();

  const std::uint32_t capacity_;  // 0: never full
  const bool apart_;
  const Owner owner_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<StreamChunk> unread_;
  std::size_t unread_tokens_ = 0;
  bool full_ = false;
  bool drained_ = false;          // it was full, and that hasn't been told
  std::optional<Finish> finish_;  // written and not read yet
  bool ended_ = false;            // finish() was called
  bool taken_ = false;            // the reader has the terminal item

  Waker waker_;
};

}  // namespace corral::engine
