#include "residency/eviction_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "residency/elsewhere.h"
#include "residency/errors.h"
#include "residency/npu_rule.h"

namespace corral::residency {
namespace {

class Finder {
 public:
  Finder(State& state, const Server& load) : state_(state), load_(load) {}

  EvictionPlan find() {
    for (const auto& [id, server] : state_.servers) {
      if (takes_slot(server->state)) force(*server);
    }
    if (!room_.refused) fill_slots();
    return std::move(room_);
  }

 private:
  // Those who must go whatever the slots say.
  void force(Server& server) {
    const ModelSpec& spec = *server.spec;
    if (spec.name == load_.spec->name) return add(server, StopReason::reload);
    const bool may_go = !state_.is_protected(server);
    if (!may_share_npu(spec, *load_.spec)) {
      if (may_go) return add(server, StopReason::npu);
      return refuse(fmt::format("the NPU is held by '{}', which is pinned", spec.name.value()));
    }
    if (load_.attempt > 1 && drives_out(state_, server) && goes_now(server)) add(server, StopReason::evict_all);
  }

  bool goes_now(const Server& server) const {
    const auto& first = load_.first_to_go;
    return first.empty() || std::ranges::find(first, server.id) != first.end();
  }

  void fill_slots() {
    const ModelType type = load_.spec->type;
    if (runs_elsewhere(*load_.spec)) return;
    std::vector<Server*> candidates;
    std::size_t staying = 0;
    for (const auto& [id, server] : state_.servers) {
      if (server->lent || runs_elsewhere(*server->spec) || !takes_slot(server->state)) continue;
      if (server->spec->type != type || is_victim(*server)) continue;
      ++staying;
      if (!state_.is_protected(*server)) candidates.push_back(server.get());
    }
    std::ranges::sort(candidates, {}, [](const Server* s) { return std::pair(rank(*s), s->used_nth); });
    for (Server* candidate : candidates) {
      if (state_.settings.limits.allows(type, staying + 1)) return;
      add(*candidate, StopReason::room);
      --staying;
    }
    if (state_.settings.limits.allows(type, staying + 1)) return;
    refuse(fmt::format("all loaded models of type {} are pinned", name_of(type)));
  }

  static int rank(const Server& server) {
    if (server.state == ServerState::evicting) return 0;
    if (server.state == ServerState::draining) return server.leaving_for_good ? 2 : 3;
    return is_busy(server) ? 4 : 1;
  }

  bool is_victim(const Server& server) const {
    return std::ranges::any_of(room_.victims, [&](const Victim& victim) { return victim.server == &server; });
  }
  void add(Server& server, StopReason reason) { room_.victims.push_back({&server, reason}); }
  void refuse(const std::string& why) {
    room_.refused.emplace(errc::slots_pinned, fmt::format("{}: unpin or unload one first", why), "model");
  }

  State& state_;
  const Server& load_;
  EvictionPlan room_;
};

}  // namespace

bool drives_out(const State& state, const Server& server) {
  return takes_slot(server.state) && !runs_elsewhere(*server.spec) &&
         (state.settings.nuclear_evicts_pinned || !state.is_protected(server));
}

bool EvictionPlan::held_by_memory() const {
  return settles.has_value() || !downsizes.empty() ||
         std::ranges::any_of(victims, [](const Victim& victim) { return victim.reason == StopReason::memory; });
}

EvictionPlan plan_eviction(State& state, const Server& load, MonoTime now) {
  EvictionPlan room = Finder(state, load).find();
  if (!room.refused) fit_memory(state, load, now, room);
  return room;
}

}  // namespace corral::residency
