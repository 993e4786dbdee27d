// Encodes pictures and sounds on a thread of its own, beside the decode threads, one piece at a time for all workers of
// an engine. On CPUs it computes on all cores with a low priority: running streams are first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "engine/kv/media_span.h"
#include "engine/media/embedding_cache.h"
#include "engine/values/stats.h"

namespace corral::engine {

// The thread starts with the first piece. The destructor waits for the running one.
class EncoderThread final : public MediaEncoder {
 public:
  // `encode` runs on the thread; an exception of it is a failure of the piece. Errors: decode_failed, out_of_memory.
  using Encode = std::function<Result<MediaRows>(const MediaPiece&)>;
  EncoderThread(Encode encode, std::uint64_t cache_bytes) : encode_(std::move(encode)), cache_(cache_bytes) {}
  ~EncoderThread() override;

  Found find(const std::shared_ptr<const MediaPiece>& piece) override;
  void when_encoded(std::move_only_function<void()> call) override;
  // No piece is begun from now on.
  void close();
  MediaStats stats() const;

 private:
  // Pieces that wait, or are being encoded. Each is held by its sessions only, so that a piece without sessions is not
  // encoded.
  struct Ordered {
    Sha256 id;
    std::weak_ptr<const MediaPiece> piece;
  };
  // An embedding that no session has taken yet: the cache may be too small for all that are waited for.
  struct Fresh {
    std::weak_ptr<const MediaPiece> piece;
    Sha256 id;
    MediaRows rows;
  };
  // A failure that no session has seen yet.
  struct Failed {
    std::weak_ptr<const MediaPiece> piece;
    Error error;
  };
  MediaRows take_cached(const Sha256& id) REQUIRES(mutex_);
  void run();
  Result<MediaRows> encoded(const MediaPiece& piece) const noexcept;
  void take(const Ordered& done, Result<MediaRows> rows) noexcept;

  const Encode encode_;
  mutable Mutex mutex_;
  Condition changed_;
  EmbeddingCache cache_ GUARDED_BY(mutex_);
  std::vector<Fresh> fresh_ GUARDED_BY(mutex_);
  std::deque<Ordered> waiting_ GUARDED_BY(mutex_);
  const Sha256* running_ GUARDED_BY(mutex_) = nullptr;  // the piece that the thread encodes
  std::map<Sha256, Failed> failed_ GUARDED_BY(mutex_);
  std::vector<std::move_only_function<void()>> when_encoded_ GUARDED_BY(mutex_);
  MediaStats stats_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace corral::engine
