// Images that clients fetch by a URL. They are kept for an hour, or until newer ones need the space. Safe on every
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "http/spool.h"

namespace corral::api {

class ImageStore {
 public:
  static constexpr std::size_t kMaxImages = 1'000;
  static constexpr Millis kTime{3'600'000};

  struct Image {
    std::string format;  // "png", "jpeg", "webp"
    std::shared_ptr<const http::Spool> bytes;
  };

  // The image's name, which is random. `limit`: bytes of all images together.
  std::string keep(Image image, std::uint64_t limit, MonoTime now);
  std::optional<Image> find(std::string_view name, MonoTime now);

 private:
  struct Entry {
    std::string name;
    MonoTime until;
    Image image;
  };
  using Entries = std::deque<Entry>;
  // Moves entries that are evicted to `gone`, which is destroyed without the lock: it may close files.
  void drop(std::uint64_t limit, MonoTime now, Entries& gone) REQUIRES(mutex_);

  Mutex mutex_;                                 // held for a search in a few entries
  Entries entries_ GUARDED_BY(mutex_);          // oldest first
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;  // of all of them
};

}  // namespace corral::api
