// The last /props of the engine of the server's one model, for requests while that model isn't in memory.
// llama-server's model sleeps then, and still answers. Safe on every thread.
#pragma once

#include <string>

#include "base/mutex.h"

namespace corral::api {

class KeptProps {
 public:
  void keep(std::string text) {
    const MutexLock lock(mutex_);
    text_ = std::move(text);
  }
  // Empty: none yet.
  std::string last() const {
    const MutexLock lock(mutex_);
    return text_;
  }

 private:
  mutable Mutex mutex_;
  std::string text_ GUARDED_BY(mutex_);
};

}  // namespace corral::api
