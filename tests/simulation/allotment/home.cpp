#include "simulation/allotment/home.h"

#include <algorithm>

#include <fmt/format.h>

#include "fleet/announce/own_node_state.h"
#include "fleet/base/errors.h"

namespace corral::fleet::allotment_simulation {
namespace {

constexpr Millis kQuiet{60'000};
constexpr Millis kIdleUnload{180'000};
constexpr Millis kFickle{150'000};
constexpr Millis kFidgets{2'000};

}  // namespace

void Home::start() {
  AllotterParts parts{.own = town.nodes_[at].id,
                      .timers = town.timers_,
                      .actions = *this,
                      .groups = this,
                      .copy = [this](const mesh::MeshModel& model, bool) { return copy(model); },
                      .catalog = [this] { return town.catalog(at); },
                      .lent =
                          [this] {
                            std::vector<LentModel> all;
                            for (const auto& [model, one] : lent)
                              all.push_back({ModelName(town.models_[model].name), now() - one.used, true});
                            for (const auto& one : loads)
                              all.push_back({ModelName(town.models_[one.model].name), Millis(0), false});
                            return all;
                          },
                      .kept = marks,
                      .keep = [this](std::string text) { marks = std::move(text); },
                      .on_change = [] {},
                      .on_new_view = {}};
  allotter =
      std::make_unique<Allotter>(town.loop_.executor(), std::move(parts), AllotterOptions{.idle_unload = kIdleUnload});
  announced = false;
  node_state = current_state();
  allotter->start();
}

// As its process ends.
void Home::stop() {
  async::run_blocking(town.loop_, allotter->stop());
  allotter.reset();
  lent.clear();
  loads.clear();
  copies.clear();
  used.clear();
  by_hand.clear();
  orders.clear();
  known_groups.clear();
  losses.clear();
  known.clear();
  taken_back = false;
}

Millis Home::now() const { return town.now_; }

const mesh::Groups* Home::groups() const {
  const auto& node = town.nodes_[at];
  return node.runs() ? &*node.groups : nullptr;
}

bool Home::recalled() const { return !town.nodes_[at].lends; }

void Home::step() {
  while (!loads.empty() && loads.front().ends <= now()) {
    auto load = std::move(loads.front());
    loads.pop_front();
    lent[load.model] = {now(), true};
    ++town.loads_;
    if (load.done) load.done({});
  }
  std::erase_if(copies, [this](const Copy& copy) {
    if (copy.ends > now()) return false;
    disk.insert(copy.model);
    ++town.copies_;
    return true;
  });
  if (recalled()) {
    lent.clear();
    for (auto& load : std::exchange(loads, {}))
      if (load.done) load.done(fail(errc::nowhere, "its owner wants the memory"));
  }
  if (taken_back && groups() != nullptr && !groups()->granter().grant()) {
    taken_back = false;
    town.call_core(at, [&](mesh::Groups& own) { own.lend(town.memory_of(at)); });
  }
  for (const auto& group : hosted())
    if (group.running) used.try_emplace(group.plan.model, now());
  if (town.town_.fidgety && now() % kFidgets == Millis(0)) fidget();
  if (!town.town_.fickle || now() - town.nodes_[at].troubled < kFickle) return;
  for (const auto& group : hosted())
    if (group.running) return end(group.plan.model);
}

// A layer goes from one node to the other, and back.
void Home::fidget() {
  for (const auto& group : hosted()) {
    auto plan = group.plan;
    auto& shares = plan.split.shares;
    if (!group.running || shares.size() < 2 || group.idle_ms < 60'000) continue;
    ++shares.front().layers;
    bool changes = false;
    town.call_core(at, [&](mesh::Groups& own) {
      changes = own.want(std::move(plan), mesh::PlanCause::ordered, town.clock_of(at));
    });
    if (changes) town.planned(at, group.plan.model);
  }
}

std::uint64_t Home::held() const {
  std::uint64_t sum = 0;
  for (const auto& [model, one] : lent) sum += town.models_[model].bytes;
  for (const auto& one : loads) sum += town.models_[one.model].bytes;
  return sum;
}

std::uint64_t Home::reported_memory() const { return town.town_.crowded ? 2 * memory : memory; }

mesh::NodeState Home::current_state() const {
  mesh::NodeState made;
  made.name = "n" + std::to_string(at);
  made.role = role;
  made.engine = "0.5.0";
  made.works = true;
  made.takes_copies = true;
  made.disk_free = 1'000'000'000'000;
  auto files = disk;
  for (unsigned model = 0; town.town_.boastful && model < town.models_.size(); ++model) files.insert(model);
  for (const auto model : files) {
    auto& on_disk = made.models.emplace_back();
    on_disk.name = town.models_[model].name;
    on_disk.bytes = town.models_[model].bytes;
    on_disk.hash = Town::key(model).bytes;
    on_disk.may_copy = true;
  }
  const auto serve = [&](unsigned model, mesh::ServingState state, Millis idle) {
    auto& served = made.serving.emplace_back();
    served.name = town.models_[model].name;
    served.state = state;
    served.lent = true;
    served.idle_ms = idle_steps(idle, kIdleUnload);
    served.bytes = town.models_[model].bytes;
  };
  for (const auto& [model, one] : lent) serve(model, mesh::ServingState::ready, now() - one.used);
  for (const auto& one : loads) serve(one.model, mesh::ServingState::loading, Millis(0));
  for (const auto& copy : copies)
    made.copying.push_back({Town::key(copy.model).bytes, 0, town.models_[copy.model].bytes, 0, true});
  const auto all = reported_memory();
  const auto taken = recalled() ? all : std::min(all, town.booked(at));
  made.memory = {{"cpu", false, all, all - taken, 0, all}};
  for (const auto& [other, one] : known)
    if (one.linked) made.links.push_back({town.nodes_[other].id, 200, 0});
  for (const auto& [model, per_hour] : asked) made.demand.push_back({town.models_[model].name, per_hour});
  if (allotter) allotter->add_to(made);
  return mesh::rounded(std::move(made));
}

bool Home::take(unsigned model, std::function<void(Result<>)> done) {
  if (const auto there = lent.find(model); there != lent.end()) {
    there->second.used = now();
    if (done) done({});
    return true;
  }
  if (!disk.contains(model) || recalled()) return false;
  if (std::ranges::find(loads, model, &Load::model) != loads.end()) return false;
  const auto need = town.models_[model].bytes;
  const auto room = [&] { return reported_memory() - std::min(reported_memory(), town.booked(at)); };
  for (auto one = lent.begin(); one != lent.end() && room() < need;)
    one = now() - one->second.used >= kQuiet ? lent.erase(one) : std::next(one);
  if (room() < need) return false;
  const auto ends = town.town_.lame ? Millis::max() : now() + Millis(300 + town.dice_.roll(3000));
  loads.push_back({model, std::max(ends, loads.empty() ? Millis(0) : loads.back().ends), std::move(done)});
  return true;
}

void Home::load(ModelName model, std::function<void(Result<>)> done) {
  const auto number = town.model_of(mesh::ContentKey{sha256({model.value()}), false});
  auto kept = done;
  if (!take(number, std::move(kept))) done(fail(errc::nowhere, "it has no room"));
}

void Home::unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) {
  const auto there = lent.find(town.model_of(mesh::ContentKey{sha256({model.value()}), false}));
  const bool gone = there != lent.end() && (drain || now() - there->second.used >= idle);
  if (gone) {
    if (!town.town_.sticky) lent.erase(there);
    ++town.unloads_;
  }
  done(gone);
}

Result<> Home::copy(const mesh::MeshModel& model) {
  const auto number = town.model_of(model.content);
  if (std::ranges::find(copies, number, &Copy::model) == copies.end())
    copies.push_back({number, now() + Millis(2000 + town.dice_.roll(8000))});
  return {};
}

bool Home::want(mesh::GroupPlan plan, mesh::PlanCause cause, bool ordered) {
  const auto model = plan.model;
  if (groups() == nullptr) return false;
  if (!disk.contains(town.model_of(model)))
    town.fail("a host has the file", fmt::format("n{} plans {}", at, in_words(plan.split)));
  const auto found = groups()->hosted().find(model);
  if (found != groups()->hosted().end() && digest_of(found->second.plan()) != digest_of(plan))
    town.check_reason_to_go(at, model, "planned anew");
  town.nodes_[at].troubled = town.now_;
  if (ordered) by_hand.insert(model);
  bool changes = false;
  town.note(fmt::format("  n{} plans {}: {}", at, town.models_[town.model_of(model)].name, in_words(plan.split)));
  town.call_core(at, [&](mesh::Groups& own) { changes = own.want(std::move(plan), cause, town.clock_of(at)); });
  if (changes) town.planned(at, model);
  return changes;
}

void Home::end(const mesh::ContentKey& model) {
  town.check_reason_to_go(at, model, "ended");
  town.nodes_[at].troubled = town.now_;
  by_hand.erase(model);
  used.erase(model);
  ++town.ends_;
  town.note(fmt::format("  n{} gives m{} up", at, town.model_of(model)));
  town.call_core(at, [&](mesh::Groups& own) { own.end(model, town.clock_of(at)); });
}

std::vector<HostedGroup> Home::hosted() const {
  std::vector<HostedGroup> all;
  if (groups() == nullptr) return all;
  for (const auto& [model, group] : groups()->hosted()) {
    if (group.state() == mesh::GroupHost::State::done) continue;
    HostedGroup one;
    one.plan = group.plan();
    one.state = group.state();
    one.running = group.is_running();
    one.refusal = group.refusal() ? "somebody said no" : "";
    one.by_hand = by_hand.contains(model);
    if (const auto last = used.find(model); last != used.end())
      one.idle_ms = static_cast<std::uint64_t>((now() - last->second).count());
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<mesh::NodeId> Home::lost(const mesh::ContentKey& model) const {
  return groups() == nullptr ? std::vector<mesh::NodeId>() : groups()->lost(model, town.clock_of(at));
}

std::vector<mesh::NodeId> Home::lost() const {
  return groups() == nullptr ? std::vector<mesh::NodeId>() : groups()->lost(town.clock_of(at));
}

std::optional<SharedMemory> Home::shared() const {
  if (groups() == nullptr) return std::nullopt;
  const auto& granter = groups()->granter();
  const auto& grant = granter.grant();
  if (!grant || grant->host == town.nodes_[at].id) return std::nullopt;
  return SharedMemory{grant->host, grant->ask.model, "m", grant->ask.bytes,
                      granter.state() == mesh::GrantManager::State::reaping};
}

void Home::take_back() {
  town.nodes_[at].troubled = town.now_;
  taken_back = true;
  town.call_core(at, [&](mesh::Groups& own) { own.recall(town.clock_of(at)); });
}

}  // namespace corral::fleet::allotment_simulation
