#include "engine/media/encoder_thread.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/thread_priority.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// Also applies to the compute threads that this thread starts.
constexpr int kNice = 5;

Error failure_of(const char* what) {
  return {errc::decode_failed, std::string("can't encode the picture or sound: ") + what};
}

}  // namespace

EncoderThread::~EncoderThread() {
  close();
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void EncoderThread::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

void EncoderThread::when_encoded(std::move_only_function<void()> call) {
  const MutexLock lock(mutex_);
  when_encoded_.push_back(std::move(call));
}

MediaStats EncoderThread::stats() const {
  const MutexLock lock(mutex_);
  MediaStats stats = stats_;
  stats.cached = cache_.size() + fresh_.size();
  stats.cached_bytes = cache_.bytes();
  for (const Fresh& left : fresh_) stats.cached_bytes += left.rows->size() * sizeof(float);
  stats.waiting = waiting_.size() + (running_ != nullptr ? 1 : 0);
  return stats;
}

MediaRows EncoderThread::take_cached(const Sha256& id) {
  const auto fresh = std::ranges::find(fresh_, id, &Fresh::id);
  if (fresh == fresh_.end()) return cache_.find(id);
  MediaRows rows = std::move(fresh->rows);
  fresh_.erase(fresh);
  cache_.put(id, rows);
  return rows;
}

EncoderThread::Found EncoderThread::find(const std::shared_ptr<const MediaPiece>& piece) {
  {
    const MutexLock lock(mutex_);
    if (MediaRows rows = take_cached(piece->id)) {
      ++stats_.hits;
      return {.rows = std::move(rows)};
    }
    if (const auto failed = failed_.find(piece->id); failed != failed_.end()) {
      const Failed last = std::move(failed->second);
      failed_.erase(failed);
      if (!last.piece.expired()) return {.failure = last.error};
    }
    if (closed_) return {};  // the streams end with `shutdown`
    if (running_ != nullptr && *running_ == piece->id) return {};
    const auto same = std::ranges::find(waiting_, piece->id, &Ordered::id);
    if (same != waiting_.end()) {
      // Of equal pieces, one that a session still holds.
      if (same->piece.expired()) same->piece = piece;
      return {};
    }
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& no_thread) {
      return {.failure = failure_of(no_thread.what())};
    }
    waiting_.push_back({piece->id, piece});
  }
  changed_.notify_one();
  return {};
}

Result<MediaRows> EncoderThread::encoded(const MediaPiece& piece) const noexcept {
  try {
    return encode_(piece);
  } catch (const std::bad_alloc&) {
    return std::unexpected(Error(errc::out_of_memory, std::string()));
  } catch (const std::exception& failure) {
    return std::unexpected(failure_of(failure.what()));
  } catch (...) {
    return std::unexpected(failure_of("an unknown exception"));
  }
}

// Without memory for the result, the sessions that wait order the piece again.
void EncoderThread::take(const Ordered& done, Result<MediaRows> rows) noexcept {
  const MutexLock lock(mutex_);
  running_ = nullptr;
  try {
    if (rows) {
      ++stats_.encoded;
      for (const Fresh& left : fresh_) {
        if (left.piece.expired()) cache_.put(left.id, left.rows);
      }
      std::erase_if(fresh_, [](const Fresh& left) { return left.piece.expired(); });
      fresh_.push_back({done.piece, done.id, std::move(*rows)});
    } else {
      ++stats_.failures;
      std::erase_if(failed_, [](const auto& left) { return left.second.piece.expired(); });
      failed_.insert_or_assign(done.id, Failed{done.piece, std::move(rows.error())});
    }
  } catch (const std::bad_alloc&) {
  }
  for (auto& call : when_encoded_) call();
}

void EncoderThread::run() {
  lower_priority(kNice);
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return closed_ || !waiting_.empty(); });
    if (closed_) return;
    const Ordered next = std::move(waiting_.front());
    waiting_.pop_front();
    std::shared_ptr<const MediaPiece> piece = next.piece.lock();
    if (!piece) {
      for (auto& call : when_encoded_) call();  // a session that waits for the same piece orders its own
      continue;
    }
    running_ = &next.id;
    lock.unlock();
    const MonoTime begin = MonoClock::now();
    Result<MediaRows> rows = encoded(*piece);
    const double ms = std::chrono::duration<double, std::milli>(MonoClock::now() - begin).count();
    piece.reset();
    take(next, std::move(rows));
    lock.lock();
    stats_.encode_ms += ms;
  }
}

}  // namespace corral::engine
