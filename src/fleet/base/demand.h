// How often clients of this node request each model. Requests that a peer passes on count at their entry node.
//
// The rate halves in kDemandHalfLife without requests, so that this morning's requests do not hold memory in the
// evening. It is announced in powers of two, and the step changes only if the rate is well outside of it: an idle node
// announces nothing. While requests wait for a model in vain, the announced value rises a little with time, at any
// rate. So one more request is visible, and a model that was released or unloaded comes back.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/named.h"
#include "mesh/catalog/node_state.h"

namespace corral::fleet {

inline constexpr std::chrono::minutes kDemandHalfLife{15};

// Plain value.
class DecayedRate {
 public:
  void add(MonoTime now);
  // Requests per hour, as if their rate had always been this.
  double per_hour(MonoTime now) const;

 private:
  double left(MonoTime now) const;

  double sum_ = 0;  // requests, each weighted by its decay until at_
  MonoTime at_{};
};

// The step to announce for a rate, given the step that was announced before: a power of two, or 0 (less than one an
// hour). Pure.
double demand_step(double announced, double per_hour);

// On any thread.
class DemandMeter {
 public:
  // `clock` outlives it.
  explicit DemandMeter(const Clock& clock) : clock_(clock) {}

  // A request has ended.
  void count(const ModelName& model);
  // A request begins to wait for memory that no node has given the model yet. It counts now, and not at its end. It
  // waits as long as the value exists; the meter must outlive the value.
  std::shared_ptr<void> wait(const ModelName& model);
  // The announced demand, sorted by name. If there is more than a node state may hold: models that a request waits for,
  // then the most requested ones.
  std::vector<mesh::Demand> announced();

 private:
  struct Entry {
    DecayedRate rate;
    double announced = 0;
    std::uint32_t waiting = 0;
    MonoTime since{};           // start of the current wait
    std::uint32_t counted = 0;  // requests that haven't ended yet
  };
  Entry& entry_of(const ModelName& model, MonoTime now) REQUIRES(mutex_);
  void forget_one(MonoTime now) REQUIRES(mutex_);

  const Clock& clock_;
  Mutex mutex_;  // held for map lookups only
  std::map<std::string, Entry> models_ GUARDED_BY(mutex_);
};

}  // namespace corral::fleet
