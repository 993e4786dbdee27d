#include "engine/schedule/draft_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/schedule/row_costs.h"

namespace corral::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DraftLengthTest : public ::testing::Test {
 protected:
  // A machine on which `rows` rows take cost(rows).
  void machine(double (*cost)(std::uint32_t)) {
    for (std::uint32_t rows = 1; rows <= RowCosts::kMaxRows; ++rows) costs_.observe(rows, cost(rows));
  }
  std::uint32_t best(double probability, std::uint32_t rows = 1, double each = 0) const {
    return draft_length({.max = 16, .rows = rows, .costs = costs_}, each, [&](std::uint32_t) { return probability; });
  }
  RowCosts costs_;
};

TEST_F(DraftLengthTest, TheSurerTheLonger) {
  machine([](std::uint32_t rows) { return 1 + 0.2 * (rows - 1); });
  EXPECT_EQ(best(0.1), 0u);
  EXPECT_EQ(best(0.5), 1u);
  EXPECT_GT(best(0.8), best(0.5));
  EXPECT_EQ(best(0.99), 16u);
}

// As measured on a processor with fast code for one row only.
TEST_F(DraftLengthTest, WhereASecondRowIsCostlyOnlyLongSureGuessesPay) {
  machine([](std::uint32_t rows) { return rows == 1 ? 1 : 3 + 0.3 * rows; });
  EXPECT_EQ(best(0.7), 0u);
  EXPECT_EQ(best(0.99), 16u);
}

TEST_F(DraftLengthTest, RowsThatCostAPassEachNeverPay) {
  machine([](std::uint32_t rows) { return 1.0 * rows; });
  EXPECT_EQ(best(0.99), 0u);
}

TEST_F(DraftLengthTest, MakingGuessesCostsToo) {
  machine([](std::uint32_t) { return 50.0; });
  EXPECT_EQ(best(0.9), 16u);
  EXPECT_LT(best(0.9, 1, 0.3), 8u);
  EXPECT_EQ(best(0.9, 1, 1.1), 0u);
}

TEST_F(DraftLengthTest, BesideManyOthersAGuessMustBeBetterThanTheirs) {
  machine([](std::uint32_t rows) { return 1 + 0.1 * (rows - 1); });
  EXPECT_GT(best(0.3, 1), 0u);
  EXPECT_EQ(best(0.3, 16), 0u);
}

TEST_F(DraftLengthTest, NoRoomNoGuesses) {
  EXPECT_EQ(draft_length({.max = 0, .rows = 1, .costs = costs_}, 0, [](std::uint32_t) { return 1.0; }), 0u);
}

class ChooseDraftsTest : public DraftLengthTest {
 protected:
  // How many rows each of several sessions gets. `sure`: how sure each of its guesses is.
  std::vector<std::uint32_t> rows(const std::vector<std::vector<double>>& sure, DraftLimits limits,
                                  const std::vector<std::uint32_t>& room = {}) const {
    std::vector<std::vector<DraftToken>> drafts(sure.size());
    std::vector<DraftList> lists;
    for (std::size_t i = 0; i < sure.size(); ++i) {
      for (const double probability : sure[i]) drafts[i].push_back({.token = 1, .probability = probability});
      lists.push_back({.drafts = drafts[i], .max = room.empty() ? 16 : room[i]});
    }
    choose_drafts(lists, costs_, limits);
    std::vector<std::uint32_t> chosen;
    for (const DraftList& list : lists) chosen.push_back(list.rows);
    return chosen;
  }
};

TEST_F(ChooseDraftsTest, TheBestOfAllSessionsTogether) {
  machine([](std::uint32_t rows) { return 1 + 0.1 * (rows - 1); });
  EXPECT_THAT(rows({{0.9, 0.9, 0.9}, {0.1}, {}}, {.max = 16}), ElementsAre(3, 0, 0));
  EXPECT_THAT(rows({{0.9, 0.9, 0.9}, {0.95, 0.2}, {}}, {.max = 2}), ElementsAre(1, 1, 0));
}

TEST_F(ChooseDraftsTest, AsForOneAloneWhereThereIsOne) {
  machine([](std::uint32_t rows) { return 1 + 0.2 * (rows - 1); });
  for (const double sure : {0.1, 0.5, 0.8, 0.99}) {
    const std::vector<double> all(16, sure);
    EXPECT_THAT(rows({all}, {.max = 16}), ElementsAre(best(sure)));
    EXPECT_THAT(rows({all}, {.max = 16, .equal = true}), ElementsAre(best(sure)));
  }
}

TEST_F(ChooseDraftsTest, WhereAllMustHaveAsManyTheOthersGetFillers) {
  machine([](std::uint32_t rows) { return 1 + 0.01 * (rows - 1); });
  EXPECT_THAT(rows({{0.9, 0.9}, {0.9}, {}}, {.max = 16, .equal = true}), ElementsAre(2, 2, 2));
  EXPECT_THAT(rows({{0.9, 0.9}, {0.9}, {}}, {.max = 5, .equal = true}), ElementsAre(1, 1, 1)) << "6 are too many";
  EXPECT_THAT(rows({{0.9, 0.9}, {0.9}, {}}, {.max = 16, .equal = true}, {9, 9, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(rows({{0.9, 0.9}, {0.9}, {}}, {.max = 16, .equal = true}, {9, 9, 0}), ElementsAre(0, 0, 0));
}

TEST_F(ChooseDraftsTest, OneSureSessionDoesntPayForFillersOfMany) {
  machine([](std::uint32_t rows) { return 1 + 0.2 * (rows - 1); });
  EXPECT_THAT(rows({{0.9}, {}, {}, {}}, {.max = 16}), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(rows({{0.9}, {}, {}, {}}, {.max = 16, .equal = true}), ElementsAre(0, 0, 0, 0));
}

// As measured with libllama on a processor that computes sixteen rows at a time: 7 rows 103 ms, 16 rows 114 ms.
TEST_F(ChooseDraftsTest, RowsThatATileHasAnywayAreUsed) {
  machine([](std::uint32_t rows) { return rows == 1 ? 20.0 : 103 + 11.0 * ((rows + 15) / 16 - 1) * 8; });
  EXPECT_THAT(rows(std::vector<std::vector<double>>(8, {0.2, 0.2}), {.max = 16, .equal = true}), Each(1));
  EXPECT_THAT(rows(std::vector<std::vector<double>>(16, {0.2, 0.2}), {.max = 16, .equal = true}), Each(0));
}

TEST_F(ChooseDraftsTest, NobodyNothing) {
  EXPECT_THAT(rows({}, {.max = 16}), IsEmpty());
  EXPECT_THAT(rows({{0.9}}, {.max = 0}), ElementsAre(0));
  EXPECT_THAT(rows({{}, {}}, {.max = 16, .equal = true}), ElementsAre(0, 0));
}

}  // namespace
}  // namespace corral::engine
