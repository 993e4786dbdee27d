// The last /props of the engine of the server's one model, for requests while that model isn't in memory.
// llama-server's model sleeps then, and still answers. Safe on every thread.
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
  // Empty: none yet.
  std::string last() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace corral::api
