#include "residency/core/recalls.h"

#include <algorithm>
#include <array>
#include <vector>

#include "residency/lending.h"

namespace corral::residency {

void Recalls::end_overdue(const Step& step) {
  for (const auto& [id, server] : state_.servers) {
    if (server->state != ServerState::draining || !works_for_peers_only(*server)) continue;
    if (step.time() - server->draining_since >= state_.settings.recall_grace) lifecycle_.stop(*server, step);
  }
}

void Recalls::yield(const Step& step) {
  Server* loader = state_.loader;
  if (loader == nullptr || !loader->lent || loader->state != ServerState::loading || !is_for_peers_only(*loader))
    return;
  const bool wanted = std::ranges::any_of(
      state_.queue, [this](const Server* load) { return Preflight::is_known(*load) && !queue_.comes_back(*load); });
  if (!wanted && state_.settings.lend_share > 0) return;
  waiters_.reject_peers(*loader, wanted ? "its owner loads another model" : "this machine lends no memory", step);
  lifecycle_.abort(*loader, StopReason::yield, step);
}

void Recalls::enforce_limits(const Step& step) {
  while (true) {
    std::vector<Server*> candidates;
    std::array<std::size_t, kModelTypeCount> count{};
    for (const auto& [id, server] : state_.servers) {
      if (!server->lent || !serves(server->state)) continue;
      count[index_of(server->spec->type)] += !server->spec->share;
      if (is_peers_only(*server)) candidates.push_back(server.get());
    }
    const bool too_much = !candidates.empty() && is_too_much_lent(state_);
    std::erase_if(candidates, [&](const Server* server) {
      const bool within = server->spec->share || count[index_of(server->spec->type)] <= state_.settings.lend_slots;
      return !too_much && within;
    });
    if (candidates.empty()) return;
    Server& first = **std::ranges::min_element(
        candidates, {}, [](const Server* server) { return std::pair(server->leases > 0, server->used_nth); });
    lifecycle_.drain(first, StopReason::recall, step);
  }
}

}  // namespace corral::residency
