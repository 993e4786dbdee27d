// Gathers the session views of several workers. Each worker holds a reference and drops it after its answer or when it
// stops. The last drop delivers the list. Safe on every thread.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/values/session_view.h"

namespace corral::engine {

class SessionListing {
 public:
  using Done = std::move_only_function<void(std::vector<SessionView>)>;

  explicit SessionListing(Done done) : done_(std::move(done)) {}
  ~SessionListing() {
    std::ranges::sort(views_, {}, &SessionView::id);
    try {
      done_(std::move(views_));
    } catch (const std::exception& failure) {  // on a worker's thread: the caller gets no answer
      log::warning("engine", "a list of sessions was dropped: {}", failure.what());
    }
  }
  SessionListing(const SessionListing&) = delete;
  SessionListing& operator=(const SessionListing&) = delete;

  void add(std::span<const SessionView> views) {
    const MutexLock lock(mutex_);
    views_.insert(views_.end(), views.begin(), views.end());
  }

 private:
  Done done_;
  Mutex mutex_;
  std::vector<SessionView> views_ GUARDED_BY(mutex_);
};

}  // namespace corral::engine
