// What requests have come to, and what some of them said.
#include "store/journal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/temp_dir_for_tests.h"
#include "store/errors.h"
#include "store/schema.h"

namespace corral::store {
namespace {

using testing::SizeIs;

class JournalTest : public testing::Test {
 protected:
  void add(std::string request, std::string model, std::string owner) {
    add({.ended = now, .request = std::move(request), .model = std::move(model), .owner = owner, .key = "of " + owner});
    ++now;
  }
  void add(ActivityRow row) { journal.add({&row, 1}, now); }
  std::string requests(ActivityFilter filter) {
    std::string text;
    for (const auto& row : journal.find(filter, now)) text += row.request + " ";
    return text;
  }

  const models::TempDir dir;
  Database database{dir / "kept.sqlite"};
  const bool migrated = (migrate(database), true);
  Limits limits{.activity_rows = 100, .activity_age = 1'000, .capture_bytes = 10'000};
  Journal journal{database, limits};
  std::int64_t now = 1'000'000;
};

TEST_F(JournalTest, RowsAreFoundByModelKeyAndTimeNewestFirst) {
  add("r1", "a", "ann");
  add("r2", "b", "ann");
  add("r3", "a", "bob");
  add("r4", "a", "ann");
  EXPECT_EQ(requests({}), "r4 r3 r2 r1 ");
  EXPECT_EQ(requests({.model = "a"}), "r4 r3 r1 ");
  EXPECT_EQ(requests({.owner = "ann"}), "r4 r2 r1 ");
  EXPECT_EQ(requests({.key = "of bob"}), "r3 ");
  EXPECT_EQ(requests({.model = "a", .owner = "ann", .key = "ann"}), "r4 r1 ");
  EXPECT_EQ(requests({.since = 1'000'002}), "r4 r3 ");
  EXPECT_EQ(requests({.limit = 2}), "r4 r3 ");
  EXPECT_EQ(requests({.before = 3, .limit = 2}), "r2 r1 ");
  EXPECT_EQ(requests({.model = "' OR 1=1 --"}), "");
}

TEST_F(JournalTest, WhatIsNotKnownStaysSo) {
  add({.ended = now, .request = "r", .output_tokens = 7, .status = 200});
  const auto row = journal.find({}, now).at(0);
  EXPECT_EQ(row.output_tokens, 7);
  EXPECT_EQ(row.prompt_tokens, std::nullopt);
  EXPECT_EQ(row.first_token_ms, std::nullopt);
}

TEST_F(JournalTest, RowsAreBoundedInNumberAndAge) {
  for (int i = 0; i < 1'000; ++i) add(fmt::format("r{}", i), "a", "ann");
  EXPECT_EQ(database.number("SELECT COUNT(*) FROM activity"), 100);
  EXPECT_THAT(journal.find({.limit = 1'000}, now), SizeIs(100));
  now += 2'000;
  EXPECT_EQ(requests({}), "");
  add("late", "a", "ann");
  EXPECT_EQ(database.number("SELECT COUNT(*) FROM activity"), 1);
  journal.change({.activity_rows = 0});
  add("none", "a", "ann");
  EXPECT_EQ(database.number("SELECT COUNT(*) FROM activity WHERE request = 'none'"), 0);
}

TEST_F(JournalTest, CapturesAreBoundedInBytes) {
  for (int i = 0; i < 100; ++i)
    journal.capture({.request = fmt::format("r{}", i), .ended = now, .doc = std::string(1'000, 'x')}, now);
  EXPECT_EQ(journal.captured("r99")->doc.size(), 1'000u);
  EXPECT_EQ(journal.captured("r0").error().code, errc::not_found);
  EXPECT_LE(database.number("SELECT SUM(bytes) FROM captures"), 10'000);
  journal.capture({.request = "huge", .ended = now, .doc = std::string(20'000, 'x')}, now);
  EXPECT_FALSE(journal.captured("huge"));
  EXPECT_TRUE(journal.captured("r99"));
  // Switched off, nothing stays.
  journal.change({.capture_bytes = 0});
  journal.tidy(now);
  EXPECT_EQ(database.number("SELECT COUNT(*) FROM captures"), 0);
}

}  // namespace
}  // namespace corral::store
