// Requests that ran when a process ended, identified by their content. A request that ends several processes is
// rejected for a while, even if other clients repeat it.
//
// The key is a hash of model, path and body. Each end of a process counts as one end for each of the n requests that
// ran, and adds 1/n to their blame. From two ends on, a request isn't repeated after an end. If its blame is also 0.5
// or more, it is quarantined: first for a minute, then twice as long each time.
//
// On any loop; a lock is held for accesses to a short list. Until a process ends, nothing is stored and no body is
// read.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/named.h"
#include "router/base/upstream.h"

namespace corral::router {

class RequestQuarantine {
 public:
  explicit RequestQuarantine(const Clock& clock) : clock_(clock) {}

  using Key = std::uint64_t;
  static Key key_of(const ModelName& model, std::string_view path, std::string_view body);

  // Some request is stored; otherwise no key is needed.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // Remaining quarantine; empty: it may be sent.
  std::optional<Millis> quarantined(Key key);
  // It ran when this process ended. True: it may be sent once more.
  bool note(Key key, const UpstreamExit& ending);
  // It was answered: its record is deleted.
  void forget(Key key);

 private:
  struct Suspect {
    int ends = 0;
    std::uint64_t last = 0;  // the process that ended last
    double blame = 0;
    MonoTime off_until{};
    MonoTime last_end{};
  };
  void forget_old(MonoTime now) REQUIRES(mutex_);

  const Clock& clock_;
  std::atomic<bool> any_ = false;
  Mutex mutex_;
  std::map<Key, Suspect> suspects_ GUARDED_BY(mutex_);
};

}  // namespace corral::router
