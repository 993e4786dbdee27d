// Nodes that go by their own settings, and nodes that don't come to a model's file.
#include <gmock/gmock.h>

#include "mesh/allocation/allocation_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class OwnTermsTest : public AllocationFixture {};

// What others believe says that one node can hold it, and that one has other settings: it would decline it for ever.
TEST_F(OwnTermsTest, AModelThatFitsANodeButForItsSettingsIsSplit) {
  model("a", 16);
  node(1, 20, {"a"}).own[key("a")] = {.need = 30 * kGB, .shape = {}};
  node(2, 14).takes_copies = false;
  const auto allocation = decide();
  EXPECT_THAT(lines(allocation), ElementsAre("n1 a share completes", "n2 a share completes"));
  ASSERT_EQ(allocation.splits.size(), 1u);
  EXPECT_EQ(allocation.splits.front().plan.host, id(1));
  // Another one that can hold it as it is there does.
  node(3, 18, {"a"});
  EXPECT_THAT(decided(), testing::Contains("n3 a alone unserved"));
}

TEST_F(OwnTermsTest, WhatIsShortIsToldByTheSettingsOfItsNode) {
  model("a", 16);
  node(1, 20, {"a"}).own[key("a")] = {.need = 30 * kGB, .shape = {}};
  const auto allocation = decide();
  EXPECT_THAT(lines(allocation), ElementsAre("- a no_memory", "n1 a standby biggest"));
  EXPECT_THAT(allocation.unserved.front().why, HasSubstr("it needs 29 GiB"));
}

TEST_F(OwnTermsTest, AModelMayBeSmallerByTheSettingsOfItsNode) {
  model("a", 30);
  node(1, 20, {"a"}).own[key("a")] = {.need = 16 * kGB, .shape = {}};
  node(2, 20, {"a"});
  EXPECT_THAT(decided(), ElementsAre("n1 a alone unserved"));
}

// Who has the memory, and neither has the file nor gets it, can't hold it either.
TEST_F(OwnTermsTest, AModelThatFitsANodeThatCannotGetItIsSplit) {
  model("a", 30);
  node(1, 20, {"a"});
  node(2, 40).takes_copies = false;
  const auto allocation = decide();
  EXPECT_THAT(lines(allocation), ElementsAre("n1 a share completes", "n2 a share completes"));
  EXPECT_EQ(allocation.splits.front().plan.host, id(1));
  at(1).role = Role::client;
  EXPECT_THAT(decided(), ElementsAre("- a no_file"));
  at(2).takes_copies = true;
  EXPECT_THAT(decided(), ElementsAre("n2 a alone fetch copy"));
}

}  // namespace
}  // namespace corral::mesh
