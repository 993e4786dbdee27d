// Limits clients that stay connected and read events: each costs little memory, but each event is written for each of
// them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include <fmt/format.h>

#include "api/base/errors.h"

namespace corral::api {

// On any loop.
class ReaderPlaces {
 public:
  explicit ReaderPlaces(std::size_t limit) : limit_(limit) {}

  // Hold it while the client reads. `places` lives as long as any place. Errors: too_many_readers.
  static Result<std::shared_ptr<void>> take(const std::shared_ptr<ReaderPlaces>& places) {
    if (places->taken_.fetch_add(1) >= places->limit_) {
      places->taken_.fetch_sub(1);
      Error error(make_error_code(errc::too_many_readers),
                  fmt::format("all {} places for readers of events are in use; close one, or raise max_event_readers",
                              places->limit_));
      error.retry_after = std::chrono::seconds(1);
      return std::unexpected(std::move(error));
    }
    return std::shared_ptr<void>(places.get(), [places](void*) { places->taken_.fetch_sub(1); });
  }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace corral::api
