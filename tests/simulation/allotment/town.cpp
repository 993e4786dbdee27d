#include "simulation/allotment/town.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "simulation/allotment/home.h"

namespace corral::fleet::allotment_simulation {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;
constexpr Millis kAnnounceInterval{250};  // nodes say what is new so often
constexpr Millis kUsed{1'000};            // clients ask so often
constexpr Millis kWorks{60'000};          // a group that was used since then works
constexpr Millis kNoticedAfter{1'500};    // what was said so long ago has been looked at
constexpr Millis kUnnoticed{30'000};

groups::Setting setting_of(const TownSetting& town) { return {.nodes = town.nodes, .seed = town.seed}; }

}  // namespace

TownOutcome live(const std::vector<Op>& scenario, const TownSetting& setting, bool with_trace) {
  Town town(setting, with_trace);
  for (const auto& op : scenario) {
    town.act(op);
    if (town.outcome().violation) return town.result();
  }
  town.come_to_rest();
  return town.result();
}

Town::Town(const TownSetting& setting, bool with_trace) : World(setting_of(setting), with_trace), town_(setting) {
  const auto count = 2 + dice_.roll(7);
  for (unsigned number = 0; number < count; ++number) {
    const auto size = dice_.chance(40) ? 18 + dice_.roll(50) : 2 + dice_.roll(14);
    models_.push_back({"m" + std::to_string(number), size * kGB});
  }
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    auto& home = *homes_.emplace_back(std::make_unique<Home>(*this, at));
    home.memory = (dice_.chance(70) ? 16 : 32) * kGB;
    if (dice_.chance(25)) home.role = mesh::Role::member;
    for (unsigned model = 0; model < count; ++model)
      if (dice_.chance(30)) home.disk.insert(model);
  }
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    started(at);
    call_core(at, [&](mesh::Groups& groups) { groups.lend(memory_of(at)); });
  }
}

Town::~Town() {
  for (auto& home : homes_)
    if (home->allotter) home->stop();
  poll();
}

mesh::ContentKey Town::key(unsigned model) { return {sha256({"m" + std::to_string(model)}), false}; }

unsigned Town::model_of(const mesh::ContentKey& content) const {
  unsigned model = 0;
  while (model + 1 < models_.size() && key(model) != content) ++model;
  return model;
}

void Town::act(const Op& op) {
  if (op.kind != Op::Kind::elapse) cause();
  if (const auto fault = as_fault(op)) return apply(*fault);
  note(describe(op));
  want(op.node, op);
}

void Town::want(unsigned at, const Op& op) {
  auto& home = *homes_[at];
  const auto model = static_cast<unsigned>(op.choice % models_.size());
  using Kind = Op::Kind;
  if (op.kind == Kind::ask) home.asked[model] = 1U << (op.other % 3 * 4);
  if (op.kind == Kind::forget) home.asked.erase(model);
  if (op.kind == Kind::file) home.disk.insert(model);
  if (!home.allotter) return;
  if (op.kind == Kind::request && !is_served(model)) home.take(model, {});
  const auto& name = models_[model].name;
  const bool is_order =
      op.kind == Kind::unload || op.kind == Kind::assign || op.kind == Kind::release || op.kind == Kind::split;
  if (is_order) stir();
  if (op.kind == Kind::unload) {
    home.orders.erase(model);
    home.allotter->unload(std::array{key(model)});
  }
  if (op.kind == Kind::assign) home.allotter->assign(AllotMarks::Named{name, std::nullopt});
  if (op.kind == Kind::release) home.allotter->release();
  if (op.kind == Kind::split) split(at, model, op.other);
  poll();
}

// What others host of it ends first.
void Town::split(unsigned at, unsigned model, unsigned other) {
  for (unsigned to = 0; to < nodes_.size(); ++to) {
    auto& home = *homes_[to];
    if (to == at || !home.allotter || !nodes_[at].ends[to].up || !home.orders.contains(model)) continue;
    home.orders.erase(model);
    home.allotter->end_split(key(model));
  }
  if (homes_[at]->allotter->split(key(model), {nodes_[at].id, nodes_[other].id})) homes_[at]->orders.insert(model);
}

std::uint64_t Town::memory_of(unsigned at) const { return homes_.empty() ? 0 : homes_[at]->reported_memory(); }

std::uint64_t Town::booked(unsigned at) const {
  const auto& worker = nodes_[at].worker;
  return homes_[at]->held() + (worker && worker->works ? worker->bytes : 0);
}

// Its residency core has the last word.
bool Town::has_room(unsigned at, const Worker& worker) {
  auto& home = *homes_[at];
  if (town_.crowded) return true;
  const auto room = [&] { return home.memory - std::min(home.memory, home.held()); };
  for (auto one = home.lent.begin(); one != home.lent.end() && room() < worker.bytes;)
    one = now_ - one->second.used >= kWorks ? home.lent.erase(one) : std::next(one);
  return nodes_[at].lends && room() >= worker.bytes;
}

void Town::started(unsigned at) {
  if (homes_.empty()) return;
  // Who is back at once may be taken for the same again.
  for (const auto& home : homes_) std::erase_if(home->losses, [&](const auto& one) { return one.second.gone == at; });
  homes_[at]->start();
  poll();
}

void Town::killed(unsigned at) {
  if (homes_.empty()) return;
  for (unsigned other = 0; other < nodes_.size(); ++other) {
    auto& home = *homes_[other];
    // It sees the end of its connection.
    if (other == at || !nodes_[other].ends[at].up || broken_.contains({at, other})) continue;
    for (const auto& [model, group] : home.known_groups) {
      const bool concerns = group.host == at || (group.host == other && group.nodes.contains(at));
      if (concerns && now_ - group.since >= kNoticedAfter) home.losses[model] = {at, now_, std::nullopt};
    }
  }
  homes_[at]->stop();
  poll();
}

void Town::poll() {
  loop_.context().restart();
  loop_.context().poll();
}

void Town::look(unsigned at) {
  if (!homes_[at]->allotter) return;
  ++looks_;
  homes_[at]->allotter->look();
}

void Town::moved() {
  if (homes_.empty()) return;
  timers_.advance(kStep);
  for (const auto& home : homes_)
    if (home->allotter) home->step();
  deliver();
  announce_all();
  if (now_ % kUsed == Millis(0)) use();
  if (town_.unnoticed && rests_ && now_ % kUnnoticed == Millis(0)) {
    for (auto& node : nodes_) node.engine.reset();
  }
  poll();
  check_memory();
  if (now_ % kUsed == Millis(0)) check_orders();
  learn_groups();
  check_losses();
}

// What a node knows of its links, and what comes over them.
void Town::deliver() {
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    auto& home = *homes_[at];
    if (!home.allotter) continue;
    bool moves = false;
    for (unsigned other = 0; other < nodes_.size(); ++other) {
      if (other == at) continue;
      const auto& end = nodes_[at].ends[other];
      auto& known = home.known[other];
      if (known.linked != end.up || (end.up && known.epoch != end.epoch)) {
        moves = true;
        if (end.up && known.epoch != end.epoch) known.node_state.reset();
        if (end.up && town_.hasty) {
          for (const auto& group : home.hosted())
            call_core(at, [&](mesh::Groups& groups) { groups.end(group.plan.model, clock_of(at)); });
        }
        known.linked = end.up;
        known.since = timers_.now();
        if (end.up) {
          known.epoch = end.epoch;
          mail_[{at, other}].push_back({now_ + Millis(20 + dice_.roll(300)),
                                        std::make_shared<const mesh::NodeState>(home.node_state), nodes_[at].epoch});
        }
        look(at);
      }
      auto& mail = mail_[{other, at}];
      while (!mail.empty() && mail.front().due <= now_) {
        if (end.up && end.epoch == mail.front().epoch && !(town_.deaf && at == 0)) {
          known.node_state = std::move(mail.front().node_state);
          look(at);
        }
        mail.pop_front();
      }
    }
    if (moves) cause();
  }
}

void Town::announce_all() {
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    auto& home = *homes_[at];
    if (!home.allotter || (now_ / kStep + at) % (kAnnounceInterval / kStep) != 0) continue;
    auto node_state = home.current_state();
    if (home.announced && node_state == home.node_state) continue;
    home.node_state = std::move(node_state);
    home.announced = true;
    look(at);
    for (unsigned other = 0; other < nodes_.size(); ++other) {
      if (other == at || !nodes_[at].ends[other].up) continue;
      auto& mail = mail_[{at, other}];
      const auto due = now_ + Millis(20 + dice_.roll(300));
      mail.push_back({mail.empty() ? due : std::max(due, mail.back().due),
                      std::make_shared<const mesh::NodeState>(home.node_state), nodes_[at].epoch});
    }
  }
}

std::shared_ptr<const mesh::Catalog> Town::catalog(unsigned at) const {
  const auto& home = *homes_[at];
  std::vector<mesh::KnownNode> nodes;
  nodes.push_back({.id = nodes_[at].id,
                   .reach = mesh::Reach::own,
                   .round_trip = {},
                   .node_state = std::make_shared<const mesh::NodeState>(home.node_state)});
  for (const auto& [other, known] : home.known) {
    nodes.push_back({.id = nodes_[other].id,
                     .reach = known.linked ? mesh::Reach::linked : mesh::Reach::away,
                     .round_trip = Millis(1),
                     .node_state = known.node_state,
                     .since = known.since});
  }
  return mesh::make_catalog(std::move(nodes));
}

bool Town::serves(unsigned at, unsigned model) const {
  const auto& home = *homes_[at];
  if (!home.allotter) return false;
  if (home.lent.contains(model)) return true;
  const auto& engine = nodes_[at].engine;
  return engine && engine->plan.model == key(model) && engine->ends == kNever;
}

bool Town::is_served(unsigned model) const {
  for (unsigned at = 0; at < nodes_.size(); ++at)
    if (serves(at, model)) return true;
  return false;
}

// Clients whose node reaches one that serves their model.
void Town::use() {
  for (unsigned entry = 0; entry < nodes_.size(); ++entry) {
    if (!homes_[entry]->allotter) continue;
    for (const auto& [model, per_hour] : homes_[entry]->asked) {
      for (unsigned at = 0; at < nodes_.size(); ++at) {
        if ((at != entry && !nodes_[entry].ends[at].up) || !serves(at, model)) continue;
        auto& home = *homes_[at];
        if (const auto lent = home.lent.find(model); lent != home.lent.end()) lent->second.used = now_;
        if (home.used.contains(key(model))) home.used[key(model)] = now_;
      }
    }
  }
}

TownOutcome Town::result() {
  TownOutcome made;
  made.violation = outcome_.violation;
  made.events = outcome_.events + looks_;
  made.loads = loads_;
  made.unloads = unloads_;
  made.copies = copies_;
  made.plans = plans_;
  made.causes = causes_;
  made.starts = outcome_.starts;
  made.trace = std::move(outcome_.trace);
  return made;
}

}  // namespace corral::fleet::allotment_simulation
