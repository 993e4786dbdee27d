#include "engine/session/stream_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace corral::engine {
namespace {

// Reserves capacity, so that the appends that follow can't fail halfway.
template <typename T>
void grow(T& list, std::size_t more) {
  if (const std::size_t size = list.size() + more; size > list.capacity())
    list.reserve(std::max(size, 2 * list.capacity()));
}

template <typename T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void join(StreamChunk& to, StreamChunk&& chunk) {
  grow(to.text, chunk.text.size());
  grow(to.tokens, chunk.tokens.size());
  grow(to.logprobs, chunk.logprobs.size());
  grow(to.prompt, chunk.prompt.size());
  to.text += chunk.text;
  append(to.tokens, std::move(chunk.tokens));
  append(to.logprobs, std::move(chunk.logprobs));
  to.progress = chunk.progress;
  for (const PromptProgress& progress : chunk.prompt) {
    if (to.prompt.size() > 1) to.prompt.pop_back();
    to.prompt.push_back(progress);
  }
}

}  // namespace

void StreamState::push(StreamChunk chunk) {
  if (chunk.text.empty() && chunk.tokens.empty() && chunk.prompt.empty()) return;
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    wake = !readable();
    const std::size_t tokens = chunk.tokens.size();
    // Prompt progress is always joined: only the first and the latest entry are kept.
    const bool own = unread_.empty() || (apart_ && (chunk.prompt.empty() || !unread_.back().text.empty()));
    if (own) {
      unread_.push_back(std::move(chunk));
    } else {
      join(unread_.back(), std::move(chunk));
    }
    unread_tokens_ += tokens;
    full_ = full_ || (capacity_ != 0 && unread_tokens_ >= capacity_);
  }
  if (!wake) return;
  changed_.notify_all();
  waker_.wake();
}

void StreamState::finish(Finish finish) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(ended_, true)) return;
    wake = !readable();
    finish_ = std::move(finish);
  }
  if (!wake) return;
  changed_.notify_all();
  waker_.wake();
}

bool StreamState::full() const {
  const MutexLock lock(mutex_);
  return full_;
}

StreamChunk StreamState::take() {
  StreamChunk chunk;
  if (!unread_.empty()) {
    chunk = std::move(unread_.front());
    unread_.pop_front();
    unread_tokens_ -= chunk.tokens.size();
    if (full_ && unread_tokens_ <= capacity_ / 2) {
      full_ = false;
      drained_ = true;
    }
  } else {
    chunk.finish = std::exchange(finish_, std::nullopt);
    taken_ = true;
  }
  return chunk;
}

std::optional<StreamChunk> StreamState::next() {
  std::optional<StreamChunk> chunk;
  bool drained = false;
  {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return readable() || taken_; });
    if (!readable()) return std::nullopt;
    chunk = take();
    drained = std::exchange(drained_, false);
  }
  if (drained) owner_.drained();
  return chunk;
}

std::optional<StreamChunk> StreamState::try_next() {
  std::optional<StreamChunk> chunk;
  bool drained = false;
  {
    const MutexLock lock(mutex_);
    if (!readable()) return std::nullopt;
    chunk = take();
    drained = std::exchange(drained_, false);
  }
  if (drained) owner_.drained();
  return chunk;
}

bool StreamState::finished() const {
  const MutexLock lock(mutex_);
  return taken_;
}

void StreamState::set_waker(std::move_only_function<void()> waker) {
  waker_.set(std::move(waker));
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    wake = readable();
  }
  if (wake) waker_.wake();
}

void StreamState::cancel() {
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
  }
  owner_.cancelled();
}

void StreamState::abandon() {
  waker_.set({});
  cancel();
}

}  // namespace corral::engine
