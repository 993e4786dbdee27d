#include "residency/core/downsizer.h"

namespace corral::residency {

void Downsizer::downsize(Instance& instance, const Step& step) {
  lifecycle_.move(instance, InstanceState::downsizing);
  instance.downsize_asked = true;
  instance.downsize_told = step.time();
  instance.downsize_crossed = false;
  step.act(Downsize{instance.id});
}

void Downsizer::give_up_overdue(const Step& step) {
  for (const auto& [id, instance] : state_.instances) {
    if (!instance->downsize_asked || step.time() - instance->downsize_told < state_.settings.memory_wait) continue;
    if (instance->state == InstanceState::downsizing) refused(*instance);
    if (instance->state != InstanceState::evicting) tickets_.reclaimed(*instance, Reclaimed::nothing, step);
  }
}

// After a request that came meanwhile it counts as whole. One that was told to stop meanwhile has been downsized all
// the same, and gives only the rest with its end.
bool Downsizer::end(InstanceId id, bool done, const Step& step) {
  Instance* instance = state_.find(id);
  if (instance == nullptr || !instance->downsize_asked) return false;
  instance->downsize_asked = false;
  const bool stays = serves(instance->state) && !instance->downsize_crossed;
  if (done && !instance->downsize_crossed) {
    if (instance->state == InstanceState::ready)
      lifecycle_.move(*instance, InstanceState::downsizing);  // it was given up
    if (stays) lifecycle_.move(*instance, InstanceState::downsized);
    instance->shrunk = true;
    ++state_.downsizes;
    const PoolBytes freed = state_.memory.bytes(instance->spec->memory, MemoryPart::dynamic);
    state_.memory.give_up(freed, step.time() + state_.settings.memory_wait);
  } else if (stays) {
    refused(*instance);
  }
  // Tickets that wait for an instance which stops wait for its end.
  const auto what = stays && done ? Reclaimed::downsized : Reclaimed::nothing;
  if (instance->state != InstanceState::evicting) tickets_.reclaimed(*instance, what, step);
  return true;
}

void Downsizer::refused(Instance& instance) {
  if (instance.state == InstanceState::downsizing) lifecycle_.move(instance, InstanceState::ready);
  instance.downsize_refused = instance.used_nth;
}

}  // namespace corral::residency
