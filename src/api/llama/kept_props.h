// What the engine of a given model said of itself last, for who asks while it isn't in memory: llama-server's model
// sleeps then, and says so. Safe on every thread.
#pragma once

#include <mutex>
#include <string>

namespace corral::api {

class KeptProps {
 public:
  void keep(std::string text) {
    const std::scoped_lock lock(mutex_);
    text_ = std::move(text);
  }
  // Empty: it was never asked.
  std::string last() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace corral::api
