// Lives that went wrong once, by what was wrong.
#include <gtest/gtest.h>

#include "base/log.h"
#include "simulation/mesh/world.h"

namespace corral::mesh::simulation {
namespace {

std::string rule_broken(const std::vector<Op>& scenario, const Setting& setting) {
  log::set_level(log::Level::none);
  const auto outcome = live(scenario, setting);
  log::set_level(log::Level::info);
  return outcome.violation ? outcome.violation->rule + ": " + outcome.violation->detail : "";
}

// One that doesn't answer was asked first, then everybody for pages that nobody had any more, three times.
TEST(MeshRegression, PagesOfAnAnnouncementThatIsOutOfDateWereWaitedFor) {
  EXPECT_EQ(rule_broken({{Op::Kind::delay, 0, 3, 44, 100},
                         {Op::Kind::mute, 1, 4, 1, 0},
                         {Op::Kind::kill, 3, 0, 29, 0},
                         {Op::Kind::elapse, 3, 0, 43, 500},
                         {Op::Kind::start, 3, 0, 0, 0},
                         {Op::Kind::kill, 4, 3, 28, 0},
                         {Op::Kind::elapse, 4, 2, 36, 500},
                         {Op::Kind::cut, 1, 2, 32, 0},
                         {Op::Kind::elapse, 0, 0, 0, 2000}},
                        {.nodes = 5, .seed = 1982}),
            "");
}

}  // namespace
}  // namespace corral::mesh::simulation
