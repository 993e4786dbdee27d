// The shared middle of a stream: the decode thread writes, the handle reads. What is unread is one chunk that grows,
// and the terminal item behind it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/threads/waker.h"
#include "engine/worker/stream.h"

namespace corral::engine {

class StreamState {
 public:
  // What the reader's side does to the session; called without a lock held. Both must be callable for as long as the
  // stream lives, also when the service is gone.
  struct Owner {
    std::function<void()> drained;    // a full stream was read
    std::function<void()> cancelled;  // the reader asked for an end, or left
  };

  // capacity: unread tokens from which on full() holds.
  StreamState(std::uint32_t capacity, Owner owner) : capacity_(capacity), owner_(std::move(owner)) {}

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
  bool readable() const { return has_unread_ || finish_.has_value(); }
  StreamChunk take();
  void took_from_full(bool was_full);

  const std::uint32_t capacity_;  // 0: never full
  const Owner owner_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  StreamChunk unread_;
  bool has_unread_ = false;
  std::optional<Finish> finish_;  // written and not read yet
  bool ended_ = false;            // finish() was called
  bool taken_ = false;            // the reader has the terminal item

  Waker waker_;
};

}  // namespace corral::engine
