#include "residency/core/adoption.h"

#include "residency/elsewhere.h"
#include "residency/lending.h"

namespace corral::residency {

bool Adoption::adopt(Server& server, const Step& step) {
  if (!server.lent) return true;
  const Place place = place_for(state_, server);
  if (place.victim != nullptr) lifecycle_.drain(*place.victim, StopReason::room, step);
  if (!place.is_free && place.victim == nullptr) return false;
  make_local(server);
  return true;
}

void Adoption::make_local(Server& server) {
  if (!server.lent) return;
  server.lent = false;
  if (takes_slot(server.state) && !runs_elsewhere(*server.spec)) --state_.lent[index_of(server.spec->type)];
  server.eviction = server.own_eviction;
  if (server.leaving == StopReason::recall) server.leaving_for_good = false;  // it may stay, if no load needs its place
  ++state_.revision;
}

void Adoption::set_eviction(Server& server, const EvictionSettings& wish) {
  if (server.lent) server.own_eviction = wish;
  server.eviction = server.lent ? lent_eviction(wish, state_.settings) : wish;
}

}  // namespace corral::residency
