#include "residency/core/pending_tickets.h"

#include <utility>

namespace corral::residency {

void PendingTickets::reclaimed(const Instance& instance, Reclaimed what, const Step& step) {
  for (PendingRelief& relief : state_.reliefs) {
    if (std::erase(relief.waits_for, instance.id) == 0) continue;
    if (what == Reclaimed::downsized) relief.downsized.push_back(instance.spec->name);
    if (what == Reclaimed::evicted) relief.evicted.push_back(instance.spec->name);
    if (!relief.waits_for.empty()) continue;
    step.act(Relieved{relief.ticket, std::move(relief.downsized), std::move(relief.evicted)});
  }
  std::erase_if(state_.reliefs, [](const PendingRelief& relief) { return relief.waits_for.empty(); });
}

void PendingTickets::gone(const Instance& instance, const Step& step) {
  for (PendingUnload& unload : state_.unloads) {
    if (std::erase(unload.waits_for, instance.id) > 0) unload.unloaded.push_back(instance.spec->name);
    if (!unload.waits_for.empty()) continue;
    step.act(Unloaded{unload.ticket, std::move(unload.unloaded), std::move(unload.draining)});
  }
  std::erase_if(state_.unloads, [](const PendingUnload& unload) { return unload.waits_for.empty(); });
}

void PendingTickets::cancel(TicketId ticket) {
  const auto is_it = [ticket](const auto& pending) { return pending.ticket == ticket; };
  std::erase_if(state_.unloads, is_it);
  std::erase_if(state_.reliefs, is_it);
}

}  // namespace corral::residency
