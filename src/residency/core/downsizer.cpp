#include "residency/core/downsizer.h"

namespace corral::residency {

void Downsizer::downsize(Instance& instance, const Step& step) {
  lifecycle_.move(instance, InstanceState::downsizing);
  instance.downsize_asked = true;
  instance.downsize_sent = step.time();
  instance.downsize_crossed = false;
  step.act(Downsize{instance.id});
}

void Downsizer::give_up_overdue(const Step& step) {
  for (const auto& [id, instance] : state_.instances) {
    if (!instance->downsize_asked || step.time() - instance->downsize_sent < state_.settings.memory_wait) continue;
    if (instance->state == InstanceState::downsizing) refused(*instance);
    if (instance->state != InstanceState::evicting) tickets_.reclaimed(*instance, Reclaimed::nothing, step);
  }
}

// If a request started meanwhile, the instance counts as not downsized. If it was stopped meanwhile, it is downsized
// all the same, and its stop frees only the rest.
bool Downsizer::end(InstanceId id, bool done, const Step& step) {
  Instance* instance = state_.find(id);
  if (instance == nullptr || !instance->downsize_asked) return false;
  instance->downsize_asked = false;
  const bool stays = serves(instance->state) && !instance->downsize_crossed;
  if (done && !instance->downsize_crossed) {
    if (instance->state == InstanceState::ready)
      lifecycle_.move(*instance, InstanceState::downsizing);  // it had counted as failed
    if (stays) lifecycle_.move(*instance, InstanceState::downsized);
    instance->shrunk = true;
    ++state_.downsizes;
    const PoolBytes freed = state_.memory.bytes(instance->spec->memory, MemoryPart::dynamic);
    state_.memory.give_up(freed, step.time() + state_.settings.memory_wait);
  } else if (stays) {
    refused(*instance);
  }
  // Tickets of a stopping instance wait for its stop.
  const auto what = stays && done ? Reclaimed::downsized : Reclaimed::nothing;
  if (instance->state != InstanceState::evicting) tickets_.reclaimed(*instance, what, step);
  return true;
}

void Downsizer::refused(Instance& instance) {
  if (instance.state == InstanceState::downsizing) lifecycle_.move(instance, InstanceState::ready);
  instance.downsize_refused = instance.used_nth;
}

}  // namespace corral::residency
