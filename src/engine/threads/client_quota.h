// Limits what each client has in progress, requests or tokens, so that a client with many leaves room for others.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/hold_times.h"

namespace corral::engine {

class ClientQuota {
 public:
  // What a client holds, until the last copy goes; may outlive the quota. None: refused.
  using Held = std::shared_ptr<const void>;

  // Who holds nothing yet, beside others.
  enum class First : std::uint8_t {
    fits,   // gets one as long as one is free, of more no more than is free behind it
    enters  // gets all it asks for as long as anything is free: the limit is passed by one request at most
  };

  explicit ClientQuota(std::uint64_t limit, First first = First::fits)
      : state_(std::make_shared<State>(limit, first)) {}

  // Beside others a client has no more than is free behind it, its first request as said above. Alone it may have seven
  // eighths, its first request alone all.
  Held enter(const std::string& client, std::uint64_t count, MonoTime now = MonoClock::now());
  std::uint64_t limit() const { return state_->limit; }
  // What a client has now.
  std::uint64_t held(const std::string& client) const;
  // When a client that was refused is likely to find room, by how long places were held so far.
  std::chrono::seconds until_free(const std::string& client, MonoTime now = MonoClock::now()) const;

 private:
  struct Client {
    std::uint64_t count = 0;
    std::multiset<MonoTime> since;  // of each that it holds
  };
  struct State {
    State(std::uint64_t the_limit, First the_first) : limit(the_limit), first(the_first) {}
    bool fits(std::uint64_t held, std::uint64_t count) const;

    const std::uint64_t limit;
    const First first;
    mutable std::mutex mutex;  // guards all below
    std::uint64_t all = 0;
    HoldTimes times;
    std::map<std::string, Client> clients;  // that hold something
  };
  const std::shared_ptr<State> state_;
};

}  // namespace corral::engine
