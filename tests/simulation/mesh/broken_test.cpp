// A check that never fails checks nothing: in each of these worlds a rule is broken on purpose, and the check that is
// named must see it. The same lives pass where nothing is broken.
#include <set>

#include <gtest/gtest.h>

#include "base/log.h"
#include "simulation/mesh/world.h"

namespace corral::mesh::simulation {
namespace {

using Kind = Op::Kind;

class BrokenMesh : public testing::Test {
 protected:
  BrokenMesh() { log::set_level(log::Level::none); }
  ~BrokenMesh() override { log::set_level(log::Level::info); }

  static std::string rule_broken(const std::vector<Op>& scenario, const Setting& setting) {
    const auto outcome = live(scenario, setting);
    return outcome.violation ? outcome.violation->rule : "";
  }
  // In lives by lot.
  static std::set<std::string> rules_broken(Setting setting, std::uint64_t runs, std::size_t length) {
    constexpr unsigned kSizes[] = {2, 3, 5};
    std::set<std::string> rules;
    for (setting.seed = 1; setting.seed <= runs; ++setting.seed) {
      setting.nodes = kSizes[setting.seed % std::size(kSizes)];
      rules.insert(rule_broken(random_scenario(setting.seed, setting.nodes, length), setting));
    }
    rules.erase("");
    return rules;
  }
  // Somebody asks node 0 for each of the models that there are.
  static void ask(std::vector<Op>& scenario, std::uint8_t models) {
    for (std::uint8_t ask = 0; ask < 15 * models; ++ask)
      scenario.push_back({Kind::ask, 0, 0, static_cast<std::uint8_t>(ask / 15), 0});
  }
};

TEST_F(BrokenMesh, SeesNodesThatServeWhateverHasTheName) {
  // Node 1 has a model, and then other files in its place, unnoticed.
  std::vector<Op> scenario = {{Kind::say, 1, 0, 1, 0}, {Kind::elapse, 0, 0, 0, 3000}};
  for (std::uint8_t model = 0; model < 2; ++model)
    scenario.push_back({Kind::lose, 1, 0, static_cast<std::uint8_t>(16 + model), 0});
  ask(scenario, 2);
  Setting setting{.nodes = 2, .links = true, .seed = 1};
  EXPECT_EQ(rule_broken(scenario, setting), "");
  setting.broken_requests.any_content = true;
  EXPECT_EQ(rule_broken(scenario, setting), "a request is answered by its model");
}

TEST_F(BrokenMesh, SeesRequestsThatAreReplayedWithoutEnd) {
  // All others have the same models, which are drawn by lot among them; they are killed one after the other.
  std::vector<Op> scenario;
  for (const std::uint8_t node : {1, 2, 3, 4})
    for (const std::uint8_t model : {1, 2, 10, 17}) scenario.push_back({Kind::say, node, 0, model, 0});
  scenario.push_back({Kind::elapse, 0, 0, 0, 3000});
  ask(scenario, 7);
  for (const std::uint8_t node : {1, 2, 3}) {
    scenario.push_back({Kind::elapse, 0, 0, 0, 300});
    scenario.push_back({Kind::kill, node, 0, 0, 0});
  }
  Setting setting{.nodes = 5, .links = true, .seed = 1};
  EXPECT_EQ(rule_broken(scenario, setting), "");
  setting.broken_requests.replays_on = true;
  EXPECT_EQ(rule_broken(scenario, setting), "a request is replayed once");
}

// A node that goes takes its side of a conflict along: what the name means has changed silently.
TEST_F(BrokenMesh, SeesNamesThatMeanSomethingElseWhenANodeLeaves) {
  // Nodes 1 and 2 mean different contents by "b", node 0 has neither.
  const std::vector<Op> scenario = {{Kind::say, 1, 0, 1, 0},
                                    {Kind::say, 2, 0, 25, 0},
                                    {Kind::elapse, 0, 0, 0, 3000},
                                    {Kind::kill, 2, 0, 0, 0},
                                    {Kind::elapse, 0, 0, 0, 1000}};
  for (const bool links : {false, true}) {
    Setting setting{.nodes = 3, .links = links, .seed = 1};
    EXPECT_EQ(rule_broken(scenario, setting), "");
    setting.forgets_names = true;
    EXPECT_EQ(rule_broken(scenario, setting), "a name that means two contents chooses none");
  }
  Setting setting;
  setting.forgets_names = true;
  const auto rules = rules_broken(setting, 60, 120);
  EXPECT_TRUE(rules.contains("a name that means two contents chooses none"));
  EXPECT_TRUE(rules.contains("what a member has isn't unknown"));
}

TEST_F(BrokenMesh, SeesLinksThatEndWithFramesOfLaterVersions) {
  const std::vector<Op> scenario = {{Kind::upgrade, 1, 0, 1, 0}, {Kind::kill, 1, 0, 0, 0}, {Kind::start, 1, 0, 0, 0}};
  Setting setting{.nodes = 3, .links = true, .seed = 1};
  EXPECT_EQ(rule_broken(scenario, setting), "");
  setting.broken_links.strict_frames = true;
  EXPECT_EQ(rule_broken(scenario, setting), "all agree when the faults stop");
}

TEST_F(BrokenMesh, SeesPagesOfLaterVersionsThatArentTaken) {
  const std::vector<Op> scenario = {{Kind::upgrade, 1, 0, 1, 0}, {Kind::kill, 1, 0, 0, 0}, {Kind::start, 1, 0, 0, 0}};
  for (const bool links : {false, true}) {
    Setting setting{.nodes = 3, .links = links, .seed = 1};
    EXPECT_EQ(rule_broken(scenario, setting), "");
    setting.strict_pages = true;
    EXPECT_EQ(rule_broken(scenario, setting), "all agree when the faults stop");
  }
}

// On a full disk a revocation holds all the same, until a restart: who is thrown out would stay in.
TEST_F(BrokenMesh, SeesMembersThatArentLearntOnAFullDisk) {
  // The one that is thrown out doesn't hear of it itself: it would end its links.
  const std::vector<Op> scenario = {{Kind::full, 1, 0, 1, 0},
                                    {Kind::cut, 0, 2, 0, 0},
                                    {Kind::elapse, 0, 0, 0, 4000},
                                    {Kind::revoke, 2, 0, 0, 0},
                                    {Kind::elapse, 0, 0, 0, 6000}};
  Setting setting{.nodes = 3, .links = true, .seed = 1};
  EXPECT_EQ(rule_broken(scenario, setting), "");
  setting.broken_links.members_need_disk = true;
  EXPECT_EQ(rule_broken(scenario, setting), "who was thrown out is out wherever that is known");
}

}  // namespace
}  // namespace corral::mesh::simulation
