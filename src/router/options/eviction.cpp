#include "router/options/eviction.h"

namespace corral::router {
namespace {

// Options have durations in seconds: -1 for never.
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

void keep_for(OptionPatch& patch, Millis idle, const residency::EvictionSettings& now) {
  std::erase_if(patch.unset, [](const auto* option) {
    return option->key == "auto_evict" || option->key == "evict_idle_timeout" || option->key == "downsize_idle_timeout";
  });
  auto& set = patch.set;
  if (idle < Millis(0)) {
    set.auto_evict = false;
    return;
  }
  // A model that didn't opt in to downsizing still doesn't.
  if (!now.auto_evict) set.downsize_idle_timeout = kNever;
  set.auto_evict = true;
  set.evict_idle_timeout = idle;
}

}  // namespace corral::router
