// Requests that were under way when a process ended, remembered by what they say: one that ends process after process
// is kept off for a while, however often and by whomever it is sent again.
//
// A request is known by a number made of model, path and body. Each end of a process counts once for it, and lays
// 1/n of the blame on each of the n requests that ran on it. From two ends on it isn't sent again after an end; with
// half an end's blame besides, it is kept off: at first for a minute, then for twice as long each time.
//
// On any loop; a lock is held for looking at a short list. Nothing is remembered, and no body is read, as long as no
// process ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/named.h"
#include "router/base/upstream.h"

namespace corral::router {

class RequestQuarantine {
 public:
  explicit RequestQuarantine(const Clock& clock) : clock_(clock) {}

  using Key = std::uint64_t;
  static Key key_of(const ModelName& model, std::string_view path, std::string_view body);

  // Somebody is remembered; else nobody needs a key.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // How long this request is kept off still; nothing: it may be sent.
  std::optional<Millis> quarantined(Key key);
  // It was under way when this process ended. True: it may be sent once more.
  bool note(Key key, const UpstreamExit& ending);
  // It was answered: what it is suspected of is forgotten.
  void forget(Key key);

 private:
  struct Suspect {
    int ends = 0;
    std::uint64_t last = 0;  // the process that ended last
    double blame = 0;
    MonoTime off_until{};
    MonoTime last_end{};
  };
  void forget_old(MonoTime now);

  const Clock& clock_;
  std::atomic<bool> any_ = false;
  std::mutex mutex_;
  std::map<Key, Suspect> quarantine_;
};

}  // namespace corral::router
