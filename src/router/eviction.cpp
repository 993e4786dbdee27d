#include "router/eviction.h"

namespace corral::router {
namespace {

// In options a duration is seconds: -1 there.
constexpr Millis kNever{-1000};

Millis timeout_of(Millis time) { return time < Millis(0) ? kNever : time; }

}  // namespace

residency::EvictionSettings eviction_of(const backends::LoadOptions& options) {
  residency::EvictionSettings eviction;
  eviction.auto_evict = options.auto_evict.value_or(eviction.auto_evict);
  eviction.downsize_idle_timeout = timeout_of(options.downsize_idle_timeout.value_or(eviction.downsize_idle_timeout));
  eviction.evict_idle_timeout = timeout_of(options.evict_idle_timeout.value_or(eviction.evict_idle_timeout));
  eviction.evict_weight_factor = options.evict_weight_factor.value_or(eviction.evict_weight_factor);
  return eviction;
}

backends::LoadOptions options_of(const residency::EvictionSettings& eviction) {
  backends::LoadOptions options;
  options.auto_evict = eviction.auto_evict;
  options.downsize_idle_timeout = timeout_of(eviction.downsize_idle_timeout);
  options.evict_idle_timeout = timeout_of(eviction.evict_idle_timeout);
  options.evict_weight_factor = eviction.evict_weight_factor;
  return options;
}

}  // namespace corral::router
