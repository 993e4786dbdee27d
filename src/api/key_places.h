// How many requests each key has under way, so that none has more than it may. Safe on every thread; places may outlive
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/error.h"
#include "base/hold_times.h"

namespace corral::api {

class KeyPlaces {
 public:
  explicit KeyPlaces(const Clock& clock) : state_(std::make_shared<State>(clock)) {}

  // A place of this key, until the last copy goes. `limit`: so many at most; 0: no limit, and nothing is counted.
  // Errors: too_many_requests, with retry_after by how long its places were held so far.
  Result<std::shared_ptr<const void>> enter(const std::string& key, std::uint32_t limit);
  std::size_t held(const std::string& key) const;

 private:
  struct Key {
    std::multiset<MonoTime> since;
    HoldTimes times;  // kept when nothing is held: there are no more keys than a file may have
  };
  struct State {
    explicit State(const Clock& the_clock) : clock(the_clock) {}
    const Clock& clock;
    mutable std::mutex mutex;  // guards what is below
    std::map<std::string, Key> keys;
  };
  const std::shared_ptr<State> state_;
};

}  // namespace corral::api
