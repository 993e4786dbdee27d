// What must hold after each event, and in the end.
#include <algorithm>

#include <fmt/format.h>

#include "simulation/groups/world.h"

namespace corral::mesh::groups_simulation {
namespace {

// A fault may show as late as a lease and a recall later.
constexpr Millis kAftermath{45'000};

}  // namespace

void World::fail(std::string rule, std::string detail) {
  if (outcome_.violation) return;
  note("=> " + rule);
  outcome_.violation = Violation{std::move(rule), std::move(detail)};
}

void World::check() {
  for (unsigned at = 0; at < nodes_.size() && !outcome_.violation; ++at) {
    check_leases(at);
    if (!nodes_[at].runs()) continue;
    check_engine(at);
    check_lost(at);
    check_claims(at);
    check_given_up(at);
  }
}

// Who believes to have this node, whether or not it could do anything with it.
void World::check_leases(unsigned at) {
  std::optional<std::string> holder;
  for (unsigned host = 0; host < nodes_.size(); ++host) {
    const auto& there = nodes_[host];
    if (!there.groups) continue;
    for (const auto& [model, group] : there.groups->hosted()) {
      const auto until = group.lease_of(nodes_[at].id);
      if (!until || *until <= clock_of(host)) continue;
      const auto name = fmt::format("n{} (term {})", host, group.of().term);
      if (holder) return fail("a node is granted to one host at a time", fmt::format("n{}: {}, {}", at, *holder, name));
      holder = name;
      if (!nodes_[at].groups) continue;
      // What the node itself says, if it has given it in this life.
      const auto& granter = nodes_[at].groups->granter();
      const auto& grant = granter.grant();
      const bool own = grant && grant->host == there.id && grant->ask.of == group.of();
      if (own && granter.state() == GrantManager::State::granted &&
          *until - there.clock > BootTime(grant->until - nodes_[at].clock))
        fail("a lease ends at the host before it ends at the node", fmt::format("n{} of n{}", at, host));
      if (grant && !own && granter.state() == GrantManager::State::granted)
        fail("a node grants nothing that somebody still believes to have",
             fmt::format("n{} to n{}, not {}", at, number_of(grant->host), name));
    }
  }
}

void World::check_engine(unsigned at) {
  const auto& node = nodes_[at];
  if (!node.engine) return;
  const auto found = node.groups->hosted().find(node.engine->plan.model);
  if (found == node.groups->hosted().end() || found->second.of() != node.engine->of)
    return fail("an engine runs for the plan of its group", fmt::format("n{}", at));
  // A machine that stood still finds its leases gone and ends what it ran, which nobody serves any more.
  if (now_ - node.resumed < Millis(2500)) return;
  for (const auto& share : node.engine->plan.split.shares) {
    const auto until = found->second.lease_of(share.node);
    // Refused, or ended: its engine has been told to stop.
    const bool stops = found->second.state() == GroupHost::State::stopping;
    if (until ? *until <= clock_of(at) : !stops)
      return fail("a host never works past its lease", fmt::format("n{} with n{}", at, number_of(share.node)));
  }
}

// In the order of ids, and only while all nodes of the plan can be reached.
void World::check_claim(unsigned at, unsigned of, const GrantRequest& ask) {
  const auto found = nodes_[at].groups->hosted().find(ask.model);
  if (found == nodes_[at].groups->hosted().end() || found->second.of() != ask.of) return;
  const auto& group = found->second;
  if (group.state() != GroupHost::State::claiming || group.lease_of(nodes_[of].id)) return;
  for (const auto& id : group.plan().nodes()) {
    const auto other = number_of(id);
    if (other < of && !group.lease_of(id)) fail("claims go in the order of ids", fmt::format("n{} of n{}", at, of));
    if (other != at && !nodes_[at].ends[other].up)
      fail("nothing is claimed before all links are up", fmt::format("n{}: n{}", at, other));
  }
}

// Less than five seconds change no plan.
void World::check_lost(unsigned at) {
  for (const auto& [model, group] : nodes_[at].groups->hosted()) {
    for (const auto& id : nodes_[at].groups->lost(model, clock_of(at))) {
      const auto other = number_of(id);
      const auto& lost = nodes_[other];
      const bool ended = !lost.groups || now_ - lost.troubled < kAftermath || now_ - nodes_[at].troubled < kAftermath;
      const auto last = received_at_.find({at, other});
      const bool recent = last != received_at_.end() && now_ - last->second < setting_.rules.patience - Millis(200);
      if (recent && !ended) fail("a blip changes no plan", fmt::format("n{} has lost n{}", at, other));
    }
  }
}

// Each node is asked once, and waited for so long: meanwhile nobody else has those that granted.
void World::check_claims(unsigned at) {
  for (const auto& [model, group] : nodes_[at].groups->hosted()) {
    if (group.state() != GroupHost::State::claiming) {
      claims_.erase({at, model});
      continue;
    }
    auto& claim = claims_.try_emplace({at, model}, group.of(), now_).first->second;
    if (claim.of != group.of()) claim = {group.of(), now_};
    const auto nodes = group.plan().split.shares.size();
    const auto limit = nodes * (setting_.rules.answer + kGroupTick) + kGroupTick;
    // Nobody counts while its machine stands still.
    if (now_ - std::max(claim.since, nodes_[at].resumed) > limit)
      return fail("nobody claims longer than its nodes may take to answer",
                  fmt::format("n{}, {} nodes, term {}", at, nodes, group.of().term));
  }
}

// Nobody's memory is kept for a plan that can't be any more.
void World::check_given_up(unsigned at) {
  for (const auto& [model, group] : nodes_[at].groups->hosted()) {
    const bool holds = group.state() == GroupHost::State::standing && !group.is_running();
    if (!holds || nodes_[at].groups->lost(model, clock_of(at)).empty()) {
      held_for_nothing_.erase({at, model});
      continue;
    }
    const auto since = held_for_nothing_.try_emplace({at, model}, now_).first->second;
    // Nobody looks while its machine stands still.
    if (now_ - std::max(since, nodes_[at].resumed) > 2 * kGroupTick)
      return fail("who lost a node and has no engine gives the others back", fmt::format("n{}", at));
  }
}

// Something has happened to the nodes of its plan, or between them; nobody else's joining or leaving matters.
void World::check_reason(unsigned at, const char* what) {
  const auto& engine = nodes_[at].engine;
  if (!engine) return;
  for (const auto& one : engine->plan.split.shares) {
    const auto a = number_of(one.node);
    if (now_ - nodes_[a].troubled < kAftermath) return;
    for (const auto& other : engine->plan.split.shares) {
      const auto found = troubled_.find(std::minmax(a, number_of(other.node)));
      if (found != troubled_.end() && now_ - found->second < kAftermath) return;
      if (a != number_of(other.node) && is_troubled(a, number_of(other.node))) return;
    }
  }
  fail("a working group is left alone", fmt::format("n{} was {}", at, what));
}

// Every group has its engine, or a node of it is another's, whose group stands.
bool World::stands(std::string& why) const {
  const auto runs = [&](const NodeId& host, const PlanTerm& of) {
    const auto& engine = nodes_[number_of(host)].engine;
    return engine && engine->of == of;
  };
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    for (const auto& [model, group] : nodes_[at].groups->hosted()) {
      if (group.is_running() && runs(nodes_[at].id, group.of())) continue;
      const bool excused = std::ranges::any_of(group.plan().split.shares, [&](const auto& share) {
        const auto& grant = nodes_[number_of(share.node)].groups->granter().grant();
        return grant && (grant->host != nodes_[at].id || grant->ask.of != group.of()) &&
               runs(grant->host, grant->ask.of);
      });
      if (excused) continue;
      why = fmt::format("n{} is {}", at, name_of(group.state()));
      return false;
    }
  }
  why.clear();
  return true;
}

}  // namespace corral::mesh::groups_simulation
