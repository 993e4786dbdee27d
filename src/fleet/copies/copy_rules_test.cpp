#include "fleet/copies/copy_rules.h"

#include <gtest/gtest.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class CopyRulesTest : public mesh::CatalogFixture {};

TEST_F(CopyRulesTest, AModelFitsIntoTheMemoryThatIsLent) {
  disk(add(2, mesh::Reach::linked), "m", "x");
  auto& self = add(1, mesh::Reach::own);
  const auto fits = [&] {
    const auto all = catalog();
    return fits_lent_memory(*all->node(id(1)), *all->find("m").model);
  };
  EXPECT_TRUE(fits());
  self.node_state.memory.front().lent = mesh::kGB;
  EXPECT_FALSE(fits());
}

}  // namespace
}  // namespace corral::fleet
