#include "engine/worker/stream_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace corral::engine {
namespace {

// Room for more, so that what follows can't fail halfway.
template <typename T>
void grow(T& list, std::size_t more) {
  if (const std::size_t size = list.size() + more; size > list.capacity())
    list.reserve(std::max(size, 2 * list.capacity()));
}

template <typename T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void StreamState::push(StreamChunk chunk) {
  if (chunk.text.empty() && chunk.tokens.empty() && chunk.prompt.empty()) return;
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    wake = !readable();
    if (has_unread_) {
      grow(unread_.text, chunk.text.size());
      grow(unread_.tokens, chunk.tokens.size());
      grow(unread_.logprobs, chunk.logprobs.size());
      grow(unread_.prompt, chunk.prompt.size());
      unread_.text += chunk.text;
      append(unread_.tokens, std::move(chunk.tokens));
      append(unread_.logprobs, std::move(chunk.logprobs));
      unread_.progress = chunk.progress;
      for (const PromptProgress& progress : chunk.prompt) {
        if (unread_.prompt.size() > 1) unread_.prompt.pop_back();
        unread_.prompt.push_back(progress);
      }
    } else {
      unread_ = std::move(chunk);
      has_unread_ = true;
    }
  }
  if (!wake) return;
  changed_.notify_all();
  waker_.wake();
}

void StreamState::finish(Finish finish) {
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(ended_, true)) return;
    wake = !readable();
    finish_ = std::move(finish);
  }
  if (!wake) return;
  changed_.notify_all();
  waker_.wake();
}

bool StreamState::full() const {
  const std::scoped_lock lock(mutex_);
  return capacity_ != 0 && unread_.tokens.size() >= capacity_;
}

StreamChunk StreamState::take() {
  StreamChunk chunk;
  if (std::exchange(has_unread_, false)) {
    chunk = std::exchange(unread_, {});
  } else {
    chunk.finish = std::exchange(finish_, std::nullopt);
    taken_ = true;
  }
  return chunk;
}

std::optional<StreamChunk> StreamState::next() {
  std::optional<StreamChunk> chunk;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return readable() || taken_; });
    if (!readable()) return std::nullopt;
    chunk = take();
  }
  took_from_full(capacity_ != 0 && chunk->tokens.size() >= capacity_);
  return chunk;
}

std::optional<StreamChunk> StreamState::try_next() {
  std::optional<StreamChunk> chunk;
  {
    const std::scoped_lock lock(mutex_);
    if (!readable()) return std::nullopt;
    chunk = take();
  }
  took_from_full(capacity_ != 0 && chunk->tokens.size() >= capacity_);
  return chunk;
}

void StreamState::took_from_full(bool was_full) {
  if (was_full) owner_.drained();
}

bool StreamState::finished() const {
  const std::scoped_lock lock(mutex_);
  return taken_;
}

void StreamState::set_waker(std::move_only_function<void()> waker) {
  waker_.set(std::move(waker));
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    wake = readable();
  }
  if (wake) waker_.wake();
}

void StreamState::cancel() {
  {
    const std::scoped_lock lock(mutex_);
    if (ended_) return;
  }
  owner_.cancelled();
}

void StreamState::abandon() {
  waker_.set({});
  cancel();
}

}  // namespace corral::engine
