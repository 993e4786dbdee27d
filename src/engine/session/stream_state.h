// State that the decode thread (writer) and the stream handle (reader) share: the unread chunk, which grows (or the
// unread chunks, if kept apart), then the terminal item.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "base/mutex.h"
#include "engine/session/stream.h"
#include "engine/threads/waker.h"

namespace corral::engine {

class StreamState {
 public:
  // Calls from the reader to the session, made without a lock. Both must stay callable as long as the stream lives,
  // even after the service has ended.
  struct Owner {
    std::function<void()> drained;    // a full stream was read
    std::function<void()> cancelled;  // the reader cancelled, or dropped the handle
  };

  enum class Unread { joined, apart };
  // capacity: number of unread tokens at which full() becomes true, until half of them are read.
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
  void abandon();  // the handle is destroyed

 private:
  bool readable() const REQUIRES(mutex_) { return !unread_.empty() || finish_.has_value(); }
  StreamChunk take() REQUIRES(mutex_);

  const std::uint32_t capacity_;  // 0: never full
  const bool apart_;
  const Owner owner_;

  mutable Mutex mutex_;
  Condition changed_;
  std::deque<StreamChunk> unread_ GUARDED_BY(mutex_);
  std::size_t unread_tokens_ GUARDED_BY(mutex_) = 0;
  bool full_ GUARDED_BY(mutex_) = false;
  bool drained_ GUARDED_BY(mutex_) = false;          // the reader has emptied it, but Owner::drained was not called yet
  std::optional<Finish> finish_ GUARDED_BY(mutex_);  // written and not read yet
  bool ended_ GUARDED_BY(mutex_) = false;            // finish() was called
  bool taken_ GUARDED_BY(mutex_) = false;            // the reader has the terminal item

  Waker waker_;
};

}  // namespace corral::engine
