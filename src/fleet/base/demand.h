// How much each model is asked for at this node, by those who come to it: what peers pass on counts where it came in.
//
// A rate that halves in kDemandHalfLife without requests, so that what was wanted this morning doesn't hold memory in
// the evening. It is told in powers of two, and one step is left only when the rate is well outside of it: nodes at
// rest say nothing. While somebody waits for a model in vain a little more is told, whatever the rate, and more the
// longer that takes: one request more is no step, and what was given back or unloaded comes back with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/named.h"
#include "mesh/catalog/node_state.h"

namespace corral::fleet {

inline constexpr std::chrono::minutes kDemandHalfLife{15};

// Plain value.
class DecayedRate {
 public:
  void add(MonoTime now);
  // Of requests, as if they had always come so often.
  double per_hour(MonoTime now) const;

 private:
  double left(MonoTime now) const;

  double sum_ = 0;  // of requests, each by what is left of it at at_
  MonoTime at_{};
};

// What is told of a rate of which `told` was told before: a power of two, or 0 (less than one an hour). Pure.
double demand_step(double told, double per_hour);

// On any thread.
class DemandMeter {
 public:
  // `clock` outlives it.
  explicit DemandMeter(const Clock& clock) : clock_(clock) {}

  // A request has ended.
  void count(const ModelName& model);
  // A request begins to wait for memory that nobody has given the model yet: it counts now, and not when it ends. It
  // waits as long as the value is kept, which the meter must outlive.
  std::shared_ptr<void> wait(const ModelName& model);
  // Sorted by name; those that are asked for most, if there are more than a statement may hold.
  std::vector<mesh::Demand> told();

 private:
  struct Entry {
    DecayedRate rate;
    double told = 0;
    std::uint32_t waiting = 0;
    MonoTime since{};           // that somebody waits
    std::uint32_t counted = 0;  // requests that haven't ended yet
  };
  Entry& entry_of(const ModelName& model, MonoTime now);
  void forget_one(MonoTime now);

  const Clock& clock_;
  std::mutex mutex_;  // of what follows, for a look at a map
  std::map<std::string, Entry> models_;
};

}  // namespace corral::fleet
