// The part of the world that is about memory.
#include <algorithm>

#include <fmt/format.h>

#include "simulation/residency/world.h"

namespace corral::residency::simulation {
namespace {

constexpr Millis kWatchInterval{1000};

}  // namespace

void World::set_traits(const Op& op) {
  traits_[op.animal] = traits_of(op);
  send(ChangeEviction{ModelName(kZoo[op.animal].name), traits_[op.animal].eviction});
}

void World::begin(const StartLoad& action) {
  Footprint really = footprint_of(action.spec->memory);
  const Traits& traits = traits_[animal_named(action.spec->name)];
  if (traits.understated) really.whole = really.whole + really.whole;
  if (action.spec->memory.empty()) really.whole.fill(kPoolSize / 10);
  memory_.start(action.instance, really);
}

// The child is gone; the system takes a while to notice that its memory is free.
void World::gone(InstanceId instance) {
  const auto at = witness_.children().find(instance);
  if (at == witness_.children().end()) return;
  on_its_way_.push_back(memory_.end(instance, at->second.holds()));
  if (lateness_ == Millis{0}) return memory_.returned(on_its_way_.back());
  set(Timer::Kind::memory_back, on_its_way_.size() - 1, lateness_);
}

void World::used(InstanceId instance) {
  if (memory_.shrunk(instance)) memory_.grow(instance);
}

void World::shrinks(InstanceId instance) {
  const auto at = witness_.children().find(instance);
  if (at == witness_.children().end()) return;
  if (chance(instance, 2)) return;  // it hangs, and will never answer
  const bool works = at->second.leases == 0 && !chance(instance, 15);
  if (works) memory_.shrink(instance);
  downsizes_[instance] = works;
  set(Timer::Kind::downsize_ends, instance.value(), stop_time(instance));
}

void World::downsize_ends(InstanceId instance) {
  const auto at = downsizes_.find(instance);
  const bool worked = at->second;
  downsizes_.erase(at);
  if (!witness_.children().contains(instance)) return;
  if (worked) return send(Downsized{instance});
  send(DownsizeFailed{instance});
}

void World::sampled() {
  if (deaf_) return;
  const Bytes2 left = memory_.available();
  if (with_trace_) trace(fmt::format("{:>8} {} of ram, {} of gpu0 free", since_birth(), left[0], left[1]));
  send(blind_ ? MemorySampled{} : memory_.sample());
}

void World::watch(bool on) {
  watching_ = on;
  if (!watching_ || watch_set_ || resting_) return;
  watch_set_ = true;
  set(Timer::Kind::watched, 0, kWatchInterval);
}

void World::watched() {
  watch_set_ = false;
  if (!watching_) return;
  watch(true);
  sampled();
}

// The second half of what a load takes is there.
bool World::fits(InstanceId instance) const {
  const Bytes2 left = memory_.available() - memory_.held(instance);
  return std::ranges::all_of(left, [](std::int64_t bytes) { return bytes >= 0; });
}

}  // namespace corral::residency::simulation
