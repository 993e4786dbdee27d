// Limits what each client has in progress, requests or tokens, so that a client with many leaves room for others.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/hold_times.h"
#include "base/mutex.h"

namespace corral::engine {

class ClientQuota {
 public:
  // What a client holds, until the last copy is destroyed; may outlive the quota. None: refused.
  using Held = std::shared_ptr<const void>;

  // A client that holds nothing yet, while others hold something.
  enum class First : std::uint8_t {
    fits,   // gets one if one is free, and several only while as many stay free
    enters  // gets all it requests if anything is free: one request at most exceeds the limit
  };

  explicit ClientQuota(std::uint64_t limit, First first = First::fits)
      : state_(std::make_shared<State>(limit, first)) {}

  // While others hold something, a client may hold at most as much as then stays free; `First` has the rule for its
  // first request. A client alone may hold seven eighths, or all with one request.
  Held enter(const std::string& client, std::uint64_t count, MonoTime now = MonoClock::now());
  std::uint64_t limit() const { return state_->limit; }
  // What the client holds now.
  std::uint64_t held(const std::string& client) const;
  // When a refused client is likely to be accepted, estimated from past hold times.
  std::chrono::seconds until_free(const std::string& client, MonoTime now = MonoClock::now()) const;

 private:
  struct Client {
    std::uint64_t count = 0;
    std::multiset<MonoTime> since;  // start time of each hold
  };
  struct State {
    State(std::uint64_t the_limit, First the_first) : limit(the_limit), first(the_first) {}
    bool fits(std::uint64_t held, std::uint64_t count) const REQUIRES(mutex);

    const std::uint64_t limit;
    const First first;
    mutable Mutex mutex;
    std::uint64_t all GUARDED_BY(mutex) = 0;
    HoldTimes times GUARDED_BY(mutex);
    std::map<std::string, Client> clients GUARDED_BY(mutex);  // that hold something
  };
  const std::shared_ptr<State> state_;
};

}  // namespace corral::engine
