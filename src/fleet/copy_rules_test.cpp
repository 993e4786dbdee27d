#include "fleet/copy_rules.h"

#include <gtest/gtest.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::fleet {
namespace {

TEST(CopyRules, AProblemIsForWhoMayOrder) {
  const auto ann = mesh::test_key(1).id(), bob = mesh::test_key(2).id();
  CopyView view{.state = CopyState::failed, .problem = "/home/ann/models is full"};
  EXPECT_EQ(told_to(ann, view, false).problem, "");
  EXPECT_EQ(told_to(ann, view, true).problem, view.problem);
  view.orderer = ann;
  EXPECT_EQ(told_to(ann, view, false).problem, view.problem);
  EXPECT_EQ(told_to(bob, view, false).problem, "");
}

class CopyRulesTest : public mesh::CatalogFixture {};

TEST_F(CopyRulesTest, AModelFitsIntoTheMemoryThatIsLent) {
  disk(add(2, mesh::Reach::linked), "m", "x");
  auto& self = add(1, mesh::Reach::own);
  const auto fits = [&] {
    const auto all = catalog();
    return fits_lent_memory(*all->node(id(1)), *all->find("m").model);
  };
  EXPECT_TRUE(fits());
  self.said.memory.front().lent = mesh::kGB;
  EXPECT_FALSE(fits());
}

}  // namespace
}  // namespace corral::fleet
