// Many short lives of several nodes: whatever requests, people, links and machines did, once they stop nodes come to
// rest, and every model is served, or it is said why it isn't.
#include "base/split_mix.h"
#include "fleet/allotment/allotter_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : rng_(seed) {
    const auto count = 2 + roll(5);
    for (std::uint64_t i = 0; i < 3 + roll(4); ++i)
      world.models.emplace("m" + std::to_string(i), 2 + roll(chance(30) ? 40 : 10));
    for (unsigned number = 1; number <= count; ++number) {
      auto& node = world.add(number);
      node.memory = (6 + roll(26)) * kGB;
      node.role = chance(75) ? mesh::Role::worker : chance(80) ? mesh::Role::member : mesh::Role::client;
      node.idle_unload = std::chrono::hours(1000);
      node.takes_copies = chance(70);
      for (const auto& [name, gb] : world.models)
        if (node.role != mesh::Role::client && chance(40)) node.on_disk.push_back(name);
      node.copy = [&node](const mesh::MeshModel& model, bool) -> Result<> {
        if (std::ranges::find(node.on_disk, model.plain_name) == node.on_disk.end())
          node.on_disk.push_back(model.plain_name);
        return {};
      };
    }
    world.start();
  }

  void happen() {
    const auto number = 1 + static_cast<unsigned>(roll(world.nodes.size()));
    auto& node = world.at(number);
    const auto model = std::next(world.models.begin(), static_cast<std::ptrdiff_t>(roll(world.models.size())))->first;
    switch (roll(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return request(node, model);
      case 4:
        return world.gone.contains(number) ? world.heal(number) : world.cut(number);
      case 5:
        if (!world.gone.empty()) world.heal(*world.gone.begin());
        return;
      case 6:
        return node.lose(model);
      case 7:
        if (chance(30)) node.restart();
        return;
      case 8:
        if (chance(20)) node.allotter->assign(AllotMarks::Named{model, AllotWorld::key(model)});
        if (chance(40)) node.allotter->release();
        return;
      case 9:
        if (chance(20)) node.allotter->unload(std::array{AllotWorld::key(model)});
        return;
      case 10:
        chance(30) ? (void)node.broken.insert(model) : node.broken.clear();
        return;
      default:
        for (auto& [name, per_hour] : node.asked) per_hour /= 2;
        return;
    }
  }
  // As routing would have it.
  void request(TestNode& entry, const std::string& model) {
    entry.asked[model] += 4;
    for (auto& [number, node] : world.nodes) {
      if (node->lent.contains(model)) return (void)(node->lent[model].used = world.timers.now());
      const auto group = node->groups.find(AllotWorld::key(model));
      if (group != node->groups.end() && group->second.running) return;
    }
    for (auto& [number, node] : world.nodes) {
      const bool there = std::ranges::find(node->on_disk, model) != node->on_disk.end();
      const auto bytes = world.models.at(model) * kGB;
      if (there && !node->broken.contains(model) && bytes <= node->memory && node->make_room(bytes, model))
        return node->have(model);
    }
  }
  void calm() {
    while (!world.gone.empty()) world.heal(*world.gone.begin());
    for (auto& [number, node] : world.nodes) {
      node->broken.clear();
      node->allotter->release();
    }
  }
  // What was done, but for uses.
  ActionLog took() {
    ActionLog all;
    for (auto& [number, node] : world.nodes) {
      for (auto& action : node->took())
        if (!action.starts_with("uses")) all.push_back(node->name + " " + action);
    }
    return all;
  }
  void check() {
    for (auto& [number, node] : world.nodes) ASSERT_LE(node->used(), node->memory) << node->name;
  }
  std::uint64_t roll(std::uint64_t sides) { return rng_.next() % sides; }
  bool chance(unsigned percent) { return roll(100) < percent; }

  AllotWorld world;

 private:
  SplitMix rng_;
};

TEST(AllotterLives, ComeToRestAndServeOrExplainEveryModel) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run(seed);
    for (int event = 0; event < 120; ++event) {
      run.happen();
      run.world.pass(Millis(250 * (1 + run.roll(40))));
      run.check();
      if (testing::Test::HasFatalFailure()) return;
    }
    // Restless ones do a bounded number of things: a few for each event.
    EXPECT_LE(run.took().size(), 600u);
    run.calm();
    run.world.pass(25min);  // what couldn't be loaded is tried again by then
    run.took();
    run.world.pass(10min);
    EXPECT_THAT(run.took(), IsEmpty());
    run.check();

    // All agree.
    std::optional<mesh::Allocation> agreed;
    for (auto& [number, node] : run.world.nodes) {
      const auto view = node->allotter->view();
      ASSERT_TRUE(view);
      if (!agreed) agreed = view->allocation;
      EXPECT_TRUE(*agreed == view->allocation) << node->name;
      std::set<ContentKey> covered;
      for (const auto& line : view->allocation.assignments) covered.insert(line.model);
      for (const auto& entry : view->allocation.unserved) covered.insert(entry.model);
      for (const auto& there : view->situation.nodes)
        for (const auto& held : there.holds) covered.insert(held.model);
      EXPECT_EQ(covered.size(), view->situation.models.size());
    }
  }
}

}  // namespace
}  // namespace corral::fleet
