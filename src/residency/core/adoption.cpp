#include "residency/core/adoption.h"

#include "residency/elsewhere.h"
#include "residency/lending.h"

namespace corral::residency {

bool Adoption::adopt(Instance& instance, const Step& step) {
  if (!instance.lent) return true;
  const Place place = place_for(state_, instance);
  if (place.victim != nullptr) lifecycle_.drain(*place.victim, StopReason::room, step);
  if (!place.is_free && place.victim == nullptr) return false;
  make_local(instance);
  return true;
}

void Adoption::make_local(Instance& instance) {
  if (!instance.lent) return;
  instance.lent = false;
  if (takes_slot(instance.state) && !runs_elsewhere(*instance.spec)) --state_.lent[index_of(instance.spec->type)];
  instance.eviction = instance.own_eviction;
  if (instance.leaving == StopReason::recall)
    instance.leaving_for_good = false;  // it may stay, if no load needs its place
  ++state_.revision;
}

void Adoption::set_eviction(Instance& instance, const EvictionSettings& settings) {
  if (instance.lent) instance.own_eviction = settings;
  instance.eviction = instance.lent ? lent_eviction(settings, state_.settings) : settings;
}

}  // namespace corral::residency
