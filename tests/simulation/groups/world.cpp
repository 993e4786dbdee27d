#include "simulation/groups/world.h"

#include <algorithm>

#include <fmt/format.h>

namespace corral::mesh::groups_simulation {
namespace {

ContentKey model_key(unsigned number) { return {sha256({"model " + std::to_string(number)}), false}; }

NodeId id_of(unsigned number) {
  NodeId id;
  id.bytes = sha256({"node " + std::to_string(number)});
  return id;
}

}  // namespace

Outcome live(const std::vector<Op>& scenario, const Setting& setting, bool with_trace) {
  World world(setting, with_trace);
  for (const auto& op : scenario) {
    world.apply(op);
    if (world.outcome().violation) return world.outcome();
  }
  world.end_faults();
  return world.outcome();
}

World::World(const Setting& setting, bool with_trace)
    : setting_(setting), with_trace_(with_trace), dice_(setting.seed * 77 + 5) {
  if (dice_.chance(40)) loss_ = dice_.roll(20);
  if (dice_.chance(40)) doubled_ = dice_.roll(20);
  longest_ = 5 + dice_.roll(dice_.chance(30) ? 800 : 100);
  std::vector<NodeId> ids;
  for (unsigned number = 0; number < setting.nodes; ++number) ids.push_back(id_of(number));
  std::ranges::sort(ids);
  for (unsigned at = 0; at < setting.nodes; ++at) nodes_.emplace_back().id = ids[at];
  for (unsigned at = 0; at < setting.nodes; ++at) {
    nodes_[at].clock = Millis(dice_.roll(1'000'000));
    nodes_[at].ends.resize(setting.nodes);
    start(at);
  }
  pass(Millis(1000));
}

unsigned World::number_of(const NodeId& id) const {
  return static_cast<unsigned>(std::ranges::find(nodes_, id, &Node::id) - nodes_.begin());
}

void World::note(std::string line) {
  if (with_trace_) outcome_.trace.push_back(fmt::format("{:>8} {}", now_.count() - 1'000'000, line));
}

void World::apply(const Op& op) {
  note(describe(op));
  auto& node = nodes_[op.node];
  using Kind = Op::Kind;
  switch (op.kind) {
    case Kind::elapse:
      return pass(Millis(op.ms));
    case Kind::want:
      return want(op);
    case Kind::end:
      if (!node.runs()) return;
      node.troubled = now_;
      return call_core(op.node, [&](Groups& groups) { groups.end(model_key(op.choice % 3), clock_of(op.node)); });
    case Kind::crash:
      if (node.engine && node.runs()) node.engine->ends = now_;
      return move_processes();
    case Kind::cut:
      set_path(op.node, op.other, false);
      return set_path(op.other, op.node, false);
    case Kind::cut_one_way:
      return set_path(op.node, op.other, false);
    case Kind::isolate:
      for (unsigned other = 0; other < nodes_.size(); ++other) {
        if (other == op.node) continue;
        set_path(op.node, other, false);
        set_path(other, op.node, false);
      }
      return;
    case Kind::heal:
      set_path(op.node, op.other, true);
      return set_path(op.other, op.node, true);
    case Kind::heal_all:
      for (const auto& [from, to] : std::set(broken_)) set_path(from, to, true);
      return;
    case Kind::glitch:
      troubled_[std::minmax<unsigned>(op.node, op.other)] = now_;
      take_down(op.node, op.other, LinkEnd::cut, now_);
      return take_down(op.other, op.node, LinkEnd::cut, now_);
    case Kind::kill:
      return kill(op.node);
    case Kind::start:
      if (!node.groups) start(op.node);
      return;
    case Kind::pause:
      if (node.runs()) node.paused = true;
      node.troubled = now_;
      return;
    case Kind::resume:
      if (!node.paused) return;
      node.paused = false;
      node.troubled = node.resumed = now_;
      for (auto& end : node.ends) end.trouble.reset();
      return call_core(op.node, [&](Groups& groups) { groups.tick(clock_of(op.node)); });
    case Kind::recall:
      if (!node.runs()) return;
      node.troubled = now_;
      node.lends = false;
      return call_core(op.node, [&](Groups& groups) { groups.recall(clock_of(op.node)); });
    case Kind::lend:
      if (!node.runs()) return;
      node.lends = true;
      return call_core(op.node, [&](Groups& groups) { groups.lend(memory_of(op.node)); });
  }
}

void World::start(unsigned at) {
  auto& node = nodes_[at];
  ++node.epoch;
  node.troubled = now_;
  auto rules = setting_.rules;
  if (setting_.patience_of_hosts) rules.patience = *setting_.patience_of_hosts;
  if (setting_.answer_of_hosts) rules.answer = *setting_.answer_of_hosts;
  const auto former = setting_.forgetful ? std::nullopt : node.former;
  node.groups.emplace(Groups::Options{node.id, node.epoch, former, dice_.next(), rules}, clock_of(at));
  node.ends.assign(nodes_.size(), {});
  node.lends = true;
  node.resumed = now_;
  call_core(at, [&](Groups& groups) { groups.lend(memory_of(at)); });
  started(at);
}

// With everything that its process has begun: no child outlives it.
void World::kill(unsigned at) {
  auto& node = nodes_[at];
  if (!node.groups) return;
  killed(at);
  const bool was_paused = node.paused;
  node.groups.reset();
  node.engine.reset();
  node.worker.reset();
  node.paused = false;
  node.troubled = now_;
  for (unsigned other = 0; other < nodes_.size(); ++other) {
    if (other == at || broken_.contains({at, other}) || !nodes_[other].runs()) continue;
    take_down(other, at, was_paused ? LinkEnd::cut : LinkEnd::ended, now_);
  }
}

// Some nodes beside the host, by the bits of `choice`; three models, two sizes.
GroupPlan World::plan_of(const Op& op) const {
  GroupPlan plan;
  plan.model = model_key(op.choice % 3);
  plan.split.host = nodes_[op.node].id;
  const std::uint32_t layers = 10 + op.choice / 3 % 2;
  std::set<unsigned> workers = {op.other};
  for (unsigned bit = 0; bit < 3; ++bit) {
    if (op.choice / 6 >> bit & 1) workers.insert((op.other + 1 + bit) % static_cast<unsigned>(nodes_.size()));
  }
  workers.erase(op.node);
  for (const auto worker : workers) plan.split.shares.push_back({nodes_[worker].id, layers, 10, 5, 1});
  plan.split.shares.push_back({plan.split.host, layers, 10, 5, 1});
  return plan;
}

void World::want(const Op& op) {
  auto& node = nodes_[op.node];
  if (!node.runs()) return;
  const auto plan = plan_of(op);
  const auto cause = static_cast<PlanCause>(op.choice / 48);
  const auto found = node.groups->hosted().find(plan.model);
  const bool works = found != node.groups->hosted().end() && found->second.state() == GroupHost::State::standing;
  const auto before = disturbances_;
  bool changes = false;
  const bool same = works && digest_of(found->second.plan()) == digest_of(plan);
  const bool stays = works && (same || cause == PlanCause::better);
  if (!stays) node.troubled = now_;
  const bool ran = works && node.engine && node.engine->ends == kNever;
  call_core(op.node, [&](Groups& groups) { changes = groups.want(plan, cause, clock_of(op.node)); });
  if (ran && changes && node.engine && node.engine->ends != kNever)
    fail("a changed plan drains first", fmt::format("n{}", op.node));
  if (stays && (changes || disturbances_ != before))
    fail("a working group isn't restarted for the same or only a better plan", fmt::format("n{}", op.node));
}

void World::set_path(unsigned from, unsigned to, bool whole) {
  const bool was_whole = !broken_.contains({from, to});
  if (was_whole == whole) return;
  if (whole) {
    broken_.erase({from, to});
  } else {
    broken_.insert({from, to});
  }
  troubled_[std::minmax(from, to)] = now_;
}

void World::carry_out(unsigned at, const GroupEffect& effect) {
  auto& node = nodes_[at];
  if (const auto* sent = std::get_if<SendMessage>(&effect)) {
    if (const auto* ask = std::get_if<GrantRequest>(&sent->message)) check_claim(at, number_of(sent->to), *ask);
    send(at, number_of(sent->to), sent->message);
  } else if (const auto* begin = std::get_if<StartEngine>(&effect)) {
    note(fmt::format("  n{} starts its engine, term {}", at, begin->of.term));
    ++outcome_.starts;
    if (node.engine) fail("one engine at a time", fmt::format("n{}", at));
    node.engine = Engine{begin->plan, begin->of};
  } else if (const auto* drain = std::get_if<DrainEngine>(&effect)) {
    note(fmt::format("  n{} drains its engine", at));
    ++disturbances_;
    check_reason(at, "drained");
    if (!node.engine || node.engine->of != drain->of) return fail("what drains runs", fmt::format("n{}", at));
    node.engine->drained = now_ + std::min(Millis(dice_.roll(5000)), drain->within.value_or(Millis(5000)));
  } else if (const auto* stop = std::get_if<StopEngine>(&effect)) {
    note(fmt::format("  n{} stops its engine", at));
    ++disturbances_;
    check_reason(at, "stopped");
    if (!node.engine || node.engine->of != stop->of) return fail("what is stopped runs", fmt::format("n{}", at));
    node.engine->ends = now_ + Millis(dice_.roll(setting_.slow_to_stop ? 6000 : 1500));
  } else if (const auto* open = std::get_if<OpenWorker>(&effect)) {
    note(fmt::format("  n{} is granted to n{}, term {}", at, number_of(open->host), open->grant.of.term));
    ++outcome_.grants;
    if (node.worker) fail("nobody grants before the last worker is gone", fmt::format("n{}", at));
    node.worker = Worker{open->host, open->grant.model, open->grant.of, kNever, open->grant.bytes};
    node.worker->works = has_room(at, *node.worker);
  } else if (const auto* reap = std::get_if<ReapWorker>(&effect)) {
    note(fmt::format("  n{} reaps the worker of n{}", at, number_of(reap->host)));
    if (!node.worker || node.worker->of != reap->of) return fail("what is reaped runs", fmt::format("n{}", at));
    node.worker->gone = now_ + Millis(10 + dice_.roll(dice_.chance(10) ? 4000 : 300));
    if (setting_.reaps_at_once) node.groups->worker_reaped(clock_of(at));
  } else if (const auto* remember = std::get_if<RememberHolder>(&effect)) {
    node.former = remember->host;
  }
}

void World::send(unsigned from, unsigned to, const GroupMessage& message) {
  if (to >= nodes_.size() || !nodes_[from].ends[to].up) return;
  if (const auto* answer = std::get_if<GrantResponse>(&message); answer && answer->verdict != GrantDecision::granted)
    ++outcome_.refusals;
  if (dice_.chance(loss_)) {
    troubled_[std::minmax(from, to)] = now_;
    lost_letter();
    return;
  }
  const int copies = dice_.chance(doubled_) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    letters_.push_back(
        {now_ + Millis(1 + dice_.roll(longest_)), from, to, nodes_[from].epoch, nodes_[from].ends[to].epoch, message});
  }
}

void World::pass(Millis time) {
  for (const auto end = now_ + time; now_ < end && !outcome_.violation;) {
    now_ += kStep;
    move_links();
    move_letters();
    move_processes();
    for (unsigned at = 0; at < nodes_.size(); ++at) {
      // Each at a moment of its own.
      if ((now_ / kStep + at) % (kGroupTick / kStep) != 0) continue;
      call_core(at, [&](Groups& groups) { groups.tick(clock_of(at)); });
    }
    moved();
  }
}

void World::heal_all() {
  note("the faults end");
  loss_ = doubled_ = 0;
  broken_.clear();
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    if (nodes_[at].paused) apply({Op::Kind::resume, static_cast<std::uint8_t>(at), 0, 0, 0});
    if (!nodes_[at].groups) start(at);
    apply({Op::Kind::lend, static_cast<std::uint8_t>(at), 0, 0, 0});
  }
}

void World::end_faults() {
  heal_all();
  pass(Millis(120'000));
  // Back-offs are up to a minute, and some plans stand in each other's way.
  std::string why = "?";
  for (int tries = 0; tries < 60 && !outcome_.violation && !stands(why); ++tries) pass(Millis(20'000));
  if (outcome_.violation) return;
  if (!why.empty()) return fail("without faults every plan stands that nobody stands in the way of", why);
  const auto disturbed = disturbances_, started = outcome_.starts;
  pass(Millis(60'000));
  if (!outcome_.violation && (disturbances_ != disturbed || outcome_.starts != started))
    fail("without faults nothing changes", "an engine was started or stopped");
}

}  // namespace corral::mesh::groups_simulation
