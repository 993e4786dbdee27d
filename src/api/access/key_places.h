// Limits the running requests of each key. Safe on every thread; places may outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/error.h"
#include "base/hold_times.h"
#include "base/mutex.h"

namespace corral::api {

class KeyPlaces {
 public:
  explicit KeyPlaces(const Clock& clock) : state_(std::make_shared<State>(clock)) {}

  // A place of this key, until its last copy is destroyed. `limit`: maximum; 0: no limit, and nothing is counted.
  // Errors: too_many_requests, with retry_after from the durations of earlier places.
  Result<std::shared_ptr<const void>> enter(const std::string& key, std::uint32_t limit);
  std::size_t held(const std::string& key) const;

 private:
  struct Key {
    std::multiset<MonoTime> since;
    HoldTimes times;  // kept without held places: the number of keys is limited by the key file
  };
  struct State {
    explicit State(const Clock& the_clock) : clock(the_clock) {}
    const Clock& clock;
    mutable Mutex mutex;
    std::map<std::string, Key> keys GUARDED_BY(mutex);
  };
  const std::shared_ptr<State> state_;
};

}  // namespace corral::api
