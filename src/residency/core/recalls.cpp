#include "residency/core/recalls.h"

#include <algorithm>
#include <array>
#include <vector>

#include "residency/lending.h"

namespace corral::residency {

void Recalls::end_overdue(const Step& step) {
  for (const auto& [id, instance] : state_.instances) {
    if (instance->state != InstanceState::draining || !works_for_peers_only(*instance)) continue;
    if (step.time() - instance->draining_since >= state_.settings.recall_grace) lifecycle_.stop(*instance, step);
  }
}

void Recalls::yield(const Step& step) {
  Instance* loader = state_.loader;
  if (loader == nullptr || !loader->lent || loader->state != InstanceState::loading || !is_for_peers_only(*loader))
    return;
  const bool wanted = std::ranges::any_of(
      state_.queue, [this](const Instance* load) { return Preflight::is_known(*load) && !queue_.comes_back(*load); });
  if (!wanted && state_.settings.lend_share > 0) return;
  waiters_.reject_peers(*loader, wanted ? "a local request loads another model" : "this machine lends no memory", step);
  lifecycle_.abort(*loader, StopReason::yield, step);
}

void Recalls::enforce_limits(const Step& step) {
  while (true) {
    std::vector<Instance*> candidates;
    std::array<std::size_t, kModelTypeCount> count{};
    for (const auto& [id, instance] : state_.instances) {
      if (!instance->lent || !serves(instance->state)) continue;
      count[index_of(instance->spec->type)] += !instance->spec->share;
      if (is_peers_only(*instance)) candidates.push_back(instance.get());
    }
    const bool too_much = !candidates.empty() && is_too_much_lent(state_);
    std::erase_if(candidates, [&](const Instance* instance) {
      const bool within = instance->spec->share || count[index_of(instance->spec->type)] <= state_.settings.lend_slots;
      return !too_much && within;
    });
    if (candidates.empty()) return;
    Instance& first = **std::ranges::min_element(
        candidates, {}, [](const Instance* instance) { return std::pair(instance->leases > 0, instance->used_nth); });
    lifecycle_.drain(first, StopReason::recall, step);
  }
}

}  // namespace corral::residency
