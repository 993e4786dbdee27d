#include "fleet/allotment/assign_forecast.h"

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class AssignForecastTest : public mesh::CatalogFixture {
 protected:
  std::string why(unsigned number) {
    const auto known = catalog();
    return why_assigned_waits(make_situation(*known, MonoTime()), {}, id(number),
                              {sha256({std::string_view("x")}), false});
  }
};

TEST_F(AssignForecastTest, ANodeThatHasItServesIt) {
  disk(add(1, mesh::Reach::own), "m", "x");
  EXPECT_EQ(why(1), "");
}

// It was told that the node will serve it, and nothing happened.
TEST_F(AssignForecastTest, ANodeWithoutTheFileSaysHowItGetsIt) {
  disk(add(1, mesh::Reach::own), "m", "x");
  auto& other = add(2, mesh::Reach::linked).node_state;
  EXPECT_EQ(why(2),
            "n2 does not have the file of m, and accepts no copies of the plan: run `corral mesh pull m` there, or set "
            "mesh_auto_copy = true there");
  other.takes_copies = true;
  EXPECT_EQ(why(2), "n2 gets m: a user ordered it; it copies the file first");
  other.disk_free = 1'000'000'000;
  EXPECT_EQ(why(2), "the file of m needs 3.7 GiB, n2 has 954 MiB of free disk");
}

// It repeated the order.
TEST_F(AssignForecastTest, ANodeWhoseMemoryAnotherModelHasWaitsForIt) {
  auto& own = add(1, mesh::Reach::own);
  disk(own, "m", "x");
  disk(own, "other", "y", 6);
  auto& held = serve(own, "other");
  held.lent = true;
  held.bytes = 6 * mesh::kGB;
  EXPECT_EQ(why(1), "it waits for memory that another model has now");
}

TEST_F(AssignForecastTest, ANodeThatIsTooSmallSaysWhatIsShort) {
  disk(add(1, mesh::Reach::own), "m", "x");
  disk(add(2, mesh::Reach::linked, 3), "m", "x");
  EXPECT_THAT(why(2), testing::AllOf(testing::StartsWith("m needs "), testing::HasSubstr(", n2 lends 2.8 GiB: ")));
}

}  // namespace
}  // namespace corral::fleet
