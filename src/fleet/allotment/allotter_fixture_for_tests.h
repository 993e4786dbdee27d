// For tests of allotters: several nodes in one process, each with a real allotter over simulated memory, groups and
// links, on one loop whose clock the test moves.
#pragma once

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "async/loop.h"
#include "fleet/allotment/allotter.h"
#include "fleet/base/demand.h"
#include "fleet/base/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {

using namespace std::chrono_literals;
using mesh::ContentKey;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

inline constexpr std::uint64_t kGB = 1'000'000'000;
using ActionLog = std::vector<std::string>;

class AllotWorld;

// A node with simulated memory. Loads take a second.
class TestNode final : public AllotActions, public GroupControl {
 public:
  struct Lent {
    MonoTime used{};
    bool busy = false;
  };
  struct Load {
    std::string name;
    MonoTime ends{};
    std::function<void(Result<>)> done;
  };

  TestNode(AllotWorld& world, unsigned number);

  void start();
  // Restarts the node: only its disk stays.
  void restart();
  void step();
  mesh::NodeState announced_state();
  ActionLog took() { return std::exchange(action_log, {}); }

  // Puts a model into memory, as after a request.
  void have(const std::string& model, bool busy = false);
  void lose(const std::string& model) { lent.erase(model); }

  void load(ModelName model, std::function<void(Result<>)> done) override;
  void unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) override;
  bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) override;
  void end(const ContentKey& model) override;
  std::vector<HostedGroup> hosted() const override;
  std::vector<mesh::NodeId> lost(const ContentKey& model) const override;
  std::vector<mesh::NodeId> lost() const override;
  std::optional<SharedMemory> shared() const override;
  void take_back() override { action_log.push_back("takes back"); }
  bool recalled() const override { return false; }

  AllotWorld& world;
  const mesh::NodeId id;
  const std::string name;
  // Memory of its lent models, its owner's and its shares; without that model.
  std::uint64_t used(const std::string& without = {}) const;
  // Frees this much memory, if models idle for a minute suffice.
  bool make_room(std::uint64_t bytes, const std::string& for_model);

  std::uint64_t memory = 16 * kGB;
  mesh::Role role = mesh::Role::worker;
  std::vector<std::string> on_disk;
  std::map<std::string, double> asked;  // demand here
  DemandMeter requests;                 // demand here that is counted, as at a real node
  bool looking = false, works = true, takes_copies = true;
  std::string engine = "0.5.0", started_for;
  std::set<std::string> broken;  // models that can't be loaded here
  std::map<std::string, Lent> lent;
  std::map<std::string, bool> owners;  // models of its owner's in memory
  Millis owners_idle{0};               // since their last use
  std::list<Load> loads;
  std::map<ContentKey, HostedGroup> groups;
  std::map<ContentKey, MonoTime> stands_at;
  std::function<Result<>(const mesh::MeshModel&, bool)> copy;
  ActionLog action_log;
  Millis idle_unload{30 * 60'000};
  std::string kept;  // survives a restart
  int keeps = 0;     // number of writes
  int views = 0;     // number of views
  std::unique_ptr<Allotter> allotter;
};

class AllotWorld {
 public:
  AllotWorld() = default;
  ~AllotWorld() {
    for (auto& [number, node] : nodes)
      if (node->allotter) async::run_blocking(loop, node->allotter->stop());
    poll();
  }

  TestNode& add(unsigned number, std::vector<std::string> on_disk = {}) {
    auto& node = *nodes.emplace(number, std::make_unique<TestNode>(*this, number)).first->second;
    node.on_disk = std::move(on_disk);
    since[number] = timers.now();
    return node;
  }
  void start() {
    for (auto& [number, node] : nodes)
      if (!node->allotter) node->start();
  }
  // Lets time pass, in small steps.
  void pass(Millis time) {
    for (const auto end = timers.now() + time; timers.now() < end;) {
      timers.advance(250ms);
      for (auto& [number, node] : nodes) node->step();
      poll();
      announce_all();
      poll();
    }
  }
  void poll() {
    loop.context().restart();
    loop.context().poll();
  }
  // Announcements reach linked nodes at once.
  void announce_all() {
    std::map<unsigned, mesh::NodeState> now;
    for (auto& [number, node] : nodes)
      if (node->allotter) now.emplace(number, node->announced_state());
    if (now == node_state) return;
    node_state = std::move(now);
    for (const auto& [number, words] : node_state)
      if (!gone.contains(number)) received[number] = words;
    for (auto& [number, node] : nodes)
      if (node->allotter) node->allotter->look();
  }
  void cut(unsigned number) {
    gone.insert(number);
    since[number] = timers.now();
    for (auto& [other, node] : nodes)
      if (node->allotter) node->allotter->look();
  }
  // Its process is known to have ended.
  void kill(unsigned number) {
    ended.insert(number);
    cut(number);
  }
  void heal(unsigned number) {
    gone.erase(number);
    ended.erase(number);
    since[number] = timers.now();
    for (auto& [other, node] : nodes)
      if (node->allotter) node->allotter->look();
  }
  std::shared_ptr<const mesh::Catalog> catalog(const mesh::NodeId& at) const {
    std::vector<mesh::KnownNode> known;
    for (const auto& [number, node] : nodes) {
      const bool away = gone.contains(number) && node->id != at;
      const auto& words = away ? received : node_state;
      const auto found = words.find(number);
      if (found == words.end()) continue;
      const auto reach = node->id == at ? mesh::Reach::own : away ? mesh::Reach::away : mesh::Reach::linked;
      known.push_back({.id = node->id,
                       .reach = reach,
                       .round_trip = Millis(1),
                       .node_state = std::make_shared<const mesh::NodeState>(found->second),
                       .since = since.at(number)});
    }
    return mesh::make_catalog(std::move(known));
  }
  static ContentKey key(const std::string& name) { return {sha256({name}), false}; }
  std::string name_of(const ContentKey& content) const {
    for (const auto& [name, gb] : models) {
      mesh::ModelOnDisk file;
      file.name = name;
      file.bytes = gb * kGB;
      if (key(name) == content || mesh::content_key(file) == content) return name;
    }
    return "?";
  }
  TestNode& at(unsigned number) { return *nodes.at(number); }
  TestNode* find(const mesh::NodeId& id) const {
    for (const auto& [number, node] : nodes)
      if (node->id == id) return node.get();
    return nullptr;
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  std::map<std::string, std::uint64_t> models;  // GB
  std::map<unsigned, std::unique_ptr<TestNode>> nodes;
  std::map<unsigned, mesh::NodeState> node_state, received;  // heard: by other nodes; of gone nodes the last state
  std::map<unsigned, MonoTime> since;
  std::set<unsigned> gone, ended;
  std::set<std::string> unhashed;  // models without a known hash
};

inline TestNode::TestNode(AllotWorld& in, unsigned number)
    : world(in), id(mesh::test_key(number).id()), name("n" + std::to_string(number)), requests(in.timers) {}

inline void TestNode::start() {
  AllotterParts parts{.own = id,
                      .timers = world.timers,
                      .actions = *this,
                      .groups = this,
                      .copy = copy,
                      .catalog = [this] { return world.catalog(id); },
                      .lent =
                          [this] {
                            std::vector<LentModel> all;
                            for (const auto& [model, one] : lent) {
                              const auto idle = std::chrono::duration_cast<Millis>(world.timers.now() - one.used);
                              all.push_back({ModelName(model), one.busy ? Millis(0) : idle, true});
                            }
                            return all;
                          },
                      .kept = kept,
                      .keep =
                          [this](std::string text) {
                            kept = std::move(text);
                            ++keeps;
                          },
                      .on_change = [] {},
                      .on_new_view = [this] { ++views; }};
  allotter = std::make_unique<Allotter>(world.loop.executor(), std::move(parts),
                                        AllotterOptions{.idle_unload = idle_unload, .assigned_at_start = started_for});
  allotter->start();
}

inline void TestNode::restart() {
  async::run_blocking(world.loop, allotter->stop());
  allotter.reset();
  action_log.clear();
  lent.clear();
  loads.clear();
  groups.clear();
  start();
}

inline void TestNode::step() {
  const auto now = world.timers.now();
  while (!loads.empty() && loads.front().ends <= now) {
    auto load = std::move(loads.front());
    loads.pop_front();
    if (broken.contains(load.name) || !make_room(world.models.at(load.name) * kGB, load.name)) {
      load.done(fail(errc::nowhere, "it can't be loaded"));
    } else {
      lent[load.name].used = now;
      load.done({});
    }
  }
  for (auto& [model, group] : groups) {
    const bool all_there = std::ranges::all_of(group.plan.split.shares, [&](const auto& share) {
      const auto* node = world.find(share.node);
      return node != nullptr && std::ranges::none_of(world.gone, [&](unsigned number) {
               return world.at(number).id == share.node || world.at(number).id == id;
             });
    });
    using State = mesh::GroupHost::State;
    if (!all_there) {
      group.state = State::waiting;
      group.running = false;
    } else if (group.state == State::waiting) {
      const bool room = std::ranges::all_of(group.plan.split.shares, [&](const auto& share) {
        return world.find(share.node)->make_room(share.total(), world.name_of(model));
      });
      group.refusal = room ? "" : "there is no room";
      if (!room) continue;
      group.state = State::claiming;
      stands_at[model] = now + 1s;
    } else if (group.state == State::claiming && stands_at[model] <= now) {
      group.state = State::standing;
      group.running = true;
    }
  }
}

inline std::uint64_t TestNode::used(const std::string& without) const {
  std::uint64_t bytes = 0;
  for (const auto& [model, one] : lent) bytes += model == without ? 0 : world.models.at(model) * kGB;
  for (const auto& [model, there] : owners) bytes += world.models.at(model) * kGB;
  for (const auto& [number, node] : world.nodes) {
    for (const auto& [model, group] : node->groups) {
      const auto* share = group.plan.share_of(id);
      if (share != nullptr && group.state != mesh::GroupHost::State::waiting) bytes += share->total();
    }
  }
  return bytes;
}

inline bool TestNode::make_room(std::uint64_t bytes, const std::string& for_model) {
  const auto idle = [&](const auto& one) {
    return one.first == for_model || (!one.second.busy && world.timers.now() - one.second.used >= 60s);
  };
  std::uint64_t stays = used();
  for (const auto& one : lent)
    if (idle(one)) stays -= world.models.at(one.first) * kGB;
  if (stays + bytes > memory) return false;
  while (used(for_model) + bytes > memory) {
    const auto victim =
        std::ranges::find_if(lent, [&](const auto& one) { return one.first != for_model && idle(one); });
    lent.erase(victim);
  }
  return true;
}

inline void TestNode::have(const std::string& model, bool busy) { lent[model] = {world.timers.now(), busy}; }

inline mesh::NodeState TestNode::announced_state() {
  mesh::NodeState node_state;
  node_state.name = name;
  node_state.role = role;
  node_state.engine = engine;
  node_state.looking = looking;
  node_state.works = works;
  node_state.takes_copies = takes_copies;
  node_state.disk_free = 1000 * kGB;
  for (const auto& model : on_disk) {
    auto& report = node_state.models.emplace_back();
    report.name = model;
    report.bytes = world.models.at(model) * kGB;
    if (!world.unhashed.contains(model)) report.hash = sha256({model});
    report.may_copy = true;
  }
  const auto serve = [&](const std::string& model, mesh::ServingState state, bool is_lent, std::uint64_t idle) {
    auto& served = node_state.serving.emplace_back();
    served.name = model;
    served.state = state;
    served.lent = is_lent;
    served.idle_ms = idle;
    served.bytes = world.models.at(model) * kGB;
  };
  for (const auto& [model, one] : lent) {
    const auto idle = std::chrono::duration_cast<Millis>(world.timers.now() - one.used).count();
    // In steps, as a real node announces it.
    const auto announced_idle =
        one.busy || idle < 60'000 ? 0 : std::bit_floor(static_cast<std::uint64_t>(idle) / 60'000) * 60'000;
    serve(model, mesh::ServingState::ready, true, announced_idle);
  }
  for (const auto& one : loads) serve(one.name, mesh::ServingState::loading, true, 0);
  for (const auto& [model, there] : owners)
    serve(model, mesh::ServingState::ready, false, static_cast<std::uint64_t>(owners_idle.count()));
  node_state.memory = {{"cpu", false, memory, memory - std::min(memory, used()), 0, memory}};
  for (const auto& [number, node] : world.nodes)
    if (node->id != id) node_state.links.push_back({node->id, 200, 0});
  node_state.demand = requests.announced();
  for (const auto& [model, per_hour] : asked) node_state.demand.push_back({model, per_hour});
  allotter->add_to(node_state);
  // What gossip makes of it.
  auto sent = mesh::rounded(node_state);
  node_state.demand = std::move(sent.demand);
  node_state.groups = std::move(sent.groups);
  return node_state;
}

inline void TestNode::load(ModelName model, std::function<void(Result<>)> done) {
  if (const auto there = lent.find(model.value()); there != lent.end()) {
    action_log.push_back("uses " + model.value());
    there->second.used = world.timers.now();
    return done({});
  }
  // As the router does (GroupLoads::hold).
  const auto holds = [&](const auto& group) { return world.name_of(group.first) == model.value(); };
  if (std::ranges::any_of(groups, holds)) {
    action_log.push_back("can't load " + model.value());
    return done(fail(errc::nowhere, "its group holds it"));
  }
  action_log.push_back("loads " + model.value());
  loads.push_back({model.value(), world.timers.now() + 1s, std::move(done)});
}

inline void TestNode::unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) {
  const auto there = lent.find(model.value());
  const bool unused = there != lent.end() && !there->second.busy && world.timers.now() - there->second.used >= idle;
  if (!unused && !(drain && there != lent.end())) {
    action_log.push_back("can't unload " + model.value());
    return done(false);
  }
  action_log.push_back((unused ? "unloads " : "drains ") + model.value());
  lent.erase(there);
  done(true);
}

inline bool TestNode::want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) {
  constexpr const char* kCauses[] = {"told", "loss", "demand", "idle", "better"};
  std::string node_names;
  for (const auto& share : plan.split.shares) node_names += " " + world.find(share.node)->name;
  action_log.push_back(
      fmt::format("hosts {} over{}: {}", world.name_of(plan.model), node_names, kCauses[static_cast<int>(cause)]));
  auto& group = groups[plan.model];
  group = HostedGroup();
  group.by_hand = by_hand;
  group.plan = std::move(plan);
  return true;
}

inline void TestNode::end(const ContentKey& model) {
  action_log.push_back("ends " + world.name_of(model));
  groups.erase(model);
}

inline std::vector<HostedGroup> TestNode::hosted() const {
  std::vector<HostedGroup> all;
  for (const auto& [model, group] : groups) all.push_back(group);
  return all;
}

inline std::vector<mesh::NodeId> TestNode::lost(const ContentKey& model) const {
  const auto found = groups.find(model);
  if (found == groups.end()) return {};
  auto all = lost();
  std::erase_if(all, [&](const auto& node) { return found->second.plan.share_of(node) == nullptr; });
  return all;
}

inline std::vector<mesh::NodeId> TestNode::lost() const {
  std::vector<mesh::NodeId> lost;
  for (const auto number : world.gone) {
    const bool long_ago = world.timers.now() - world.since.at(number) >= 5s;
    if (long_ago || world.ended.contains(number)) lost.push_back(world.at(number).id);
  }
  std::ranges::sort(lost);
  return lost;
}

inline std::optional<SharedMemory> TestNode::shared() const {
  for (const auto& [number, node] : world.nodes) {
    for (const auto& [model, group] : node->groups) {
      const auto* share = group.plan.share_of(id);
      if (share != nullptr && node->id != id && group.state != mesh::GroupHost::State::waiting)
        return SharedMemory{node->id, model, world.name_of(model), share->total(), false};
    }
  }
  return std::nullopt;
}

class AllotterTest : public testing::Test {
 protected:
  TestNode& node(unsigned number, std::vector<std::string> on_disk = {}) {
    return world.add(number, std::move(on_disk));
  }
  void pass(Millis time) { world.pass(time); }
  std::size_t serving(const std::string& model) const {
    std::size_t count = 0;
    for (const auto& [number, node] : world.nodes) count += node->lent.contains(model) ? 1 : 0;
    return count;
  }
  void begin(Millis time = 10s) {
    world.start();
    pass(time);
  }

  AllotWorld world;
};

}  // namespace corral::fleet
