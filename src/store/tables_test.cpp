// Responses and conversations in a file, with the time told by the test.
#include "store/tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/temp_dir_for_tests.h"
#include "store/errors.h"
#include "store/schema.h"

namespace corral::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kDay = 24ll * 3'600 * 1'000;

class TablesTest : public testing::Test {
 protected:
  ResponseRow row(std::string id, std::string previous = {}, std::string doc = "{}", std::string owner = "ann") {
    return {.id = std::move(id),
            .owner = std::move(owner),
            .created = now++,
            .status = "completed",
            .previous = std::move(previous),
            .doc = std::move(doc),
            .input = "[]"};
  }
  void put(const ResponseRow& what) {
    const auto done = tables->put(what, now);
    ASSERT_TRUE(done) << done.error().message;
  }
  bool has(const std::string& id, const std::string& owner = "ann") {
    return tables->response(owner, id, now).has_value();
  }
  void open(Limits limits) { tables.emplace(database, limits); }

  const models::TempDir dir;
  Database database{dir / "kept.sqlite"};
  const bool migrated = (migrate(database), true);
  std::optional<Tables> tables{std::in_place, database, Limits()};
  std::int64_t now = 1'000 * kDay;
};

TEST_F(TablesTest, WhatWasPutIsFoundByItsOwnerAlone) {
  put(row("resp_1", "", R"({"a":"ä\"'"})"));
  const auto found = tables->response("ann", "resp_1", now);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->doc, R"({"a":"ä\"'"})");
  EXPECT_EQ(found->status, "completed");
  EXPECT_EQ(tables->response("bob", "resp_1", now).error().code, errc::not_found);
  EXPECT_EQ(tables->erase_response("bob", "resp_1", now).error().code, errc::not_found);
  EXPECT_EQ(tables->response("", "resp_1", now).error().code, errc::not_found);
  // Nobody takes the place of another's.
  EXPECT_EQ(tables->put(row("resp_1", "", "{}", "bob"), now).error().code, errc::not_found);
  EXPECT_TRUE(has("resp_1"));
  EXPECT_TRUE(tables->erase_response("ann", "resp_1", now));
  EXPECT_FALSE(has("resp_1"));
  EXPECT_EQ(tables->bytes(), 0u);
}

TEST_F(TablesTest, StatementsInIdsAreIds) {
  put(row("resp_1"));
  const std::string bad = "x' OR '1'='1'; DROP TABLE responses; --";
  EXPECT_EQ(tables->response("ann", bad, now).error().code, errc::not_found);
  EXPECT_EQ(tables->erase_response("ann", bad, now).error().code, errc::not_found);
  EXPECT_EQ(tables->chain("ann", bad, {}, now).error().code, errc::not_found);
  EXPECT_EQ(tables->conversation("ann", bad, now).error().code, errc::not_found);
  put(row(bad));
  EXPECT_TRUE(has(bad));
  EXPECT_TRUE(has("resp_1"));
  const auto long_one = tables->response("ann", std::string(1'000'000, 'x'), now);
  EXPECT_LT(long_one.error().message.size(), 400u);
  EXPECT_EQ(tables->response("ann", std::string("resp_1\0x", 8), now).error().code, errc::not_found);
}

TEST_F(TablesTest, AChainComesOldestFirstAndIsBounded) {
  put(row("r0"));
  for (int i = 1; i < 10'000; ++i) put(row(fmt::format("r{}", i), fmt::format("r{}", i - 1)));
  const auto three = tables->chain("ann", "r2", {}, now);
  ASSERT_TRUE(three);
  EXPECT_THAT(*three, ElementsAre(testing::Field(&ResponseRow::id, "r0"), testing::Field(&ResponseRow::id, "r1"),
                                  testing::Field(&ResponseRow::id, "r2")));
  const auto all = tables->chain("ann", "r9999", {.rows = 1'000}, now);
  EXPECT_EQ(all.error().code, errc::too_long);
  EXPECT_THAT(all.error().message, HasSubstr("'r9999' continues more than 1000 responses"));
  EXPECT_EQ(tables->chain("ann", "r9999", {.rows = 20'000, .bytes = 1'000}, now).error().code, errc::too_large);
  EXPECT_THAT(tables->chain("ann", "r999", {.rows = 1'000}, now).value(), SizeIs(1'000));
  // One of the middle has gone: nothing is left out silently.
  EXPECT_TRUE(tables->erase_response("ann", "r500", now));
  const auto cut = tables->chain("ann", "r999", {.rows = 1'000}, now);
  EXPECT_EQ(cut.error().code, errc::not_found);
  EXPECT_THAT(cut.error().message, HasSubstr("'r999' continues 'r500', which is no longer stored"));
  put(row("ring", "ring"));
  EXPECT_EQ(tables->chain("ann", "ring", {}, now).error().code, errc::too_long);
}

TEST_F(TablesTest, WhoKeepsMuchPushesOutNobodyElses) {
  open({.response_bytes = 100'000});
  put(row("quiet", "", "{}", "bob"));
  for (int i = 0; i < 5'000; ++i) put(row(fmt::format("r{}", i)));
  EXPECT_LE(tables->bytes(), 100'000u);
  EXPECT_TRUE(has("quiet", "bob"));
  EXPECT_TRUE(has("r4999"));
  EXPECT_FALSE(has("r0"));
  EXPECT_LT(database.number("SELECT COUNT(*) FROM responses"), 200);
}

TEST_F(TablesTest, OneThatIsTooLargeIsNotKeptAndPushesOutNothing) {
  open({.response_bytes = 100'000});
  put(row("small"));
  EXPECT_EQ(tables->put(row("large", "", std::string(30'000, 'x')), now).error().code, errc::too_large);
  EXPECT_FALSE(has("large"));
  EXPECT_TRUE(has("small"));
}

TEST_F(TablesTest, WhatIsTooOldIsGoneAtOnceAndLeavesTheFile) {
  open({.response_age = kDay});
  put(row("old"));
  now += kDay - 10;
  EXPECT_TRUE(has("old"));
  now += 100;
  EXPECT_FALSE(has("old"));
  EXPECT_EQ(tables->erase_response("ann", "old", now).error().code, errc::not_found);
  put(row("new"));
  EXPECT_EQ(database.number("SELECT COUNT(*) FROM responses"), 1);
}

TEST_F(TablesTest, BytesAreCountedThroughReplacementsAndOpenings) {
  put(row("a", "", std::string(1'000, 'x')));
  put(row("a", "", std::string(100, 'x')));
  put(row("b"));
  ASSERT_TRUE(tables->create({.id = "conv_1", .owner = "ann", .created = now, .metadata = "{}"},
                             {{.id = "i1", .doc = "{}"}, {.id = "i2", .doc = "{}"}}, now));
  const auto bytes = tables->bytes();
  open({});
  EXPECT_EQ(tables->bytes(), bytes);
  ASSERT_TRUE(tables->erase_item("ann", "conv_1", "i1", now));
  ASSERT_TRUE(tables->erase_conversation("ann", "conv_1", now));
  ASSERT_TRUE(tables->erase_response("ann", "a", now));
  ASSERT_TRUE(tables->erase_response("ann", "b", now));
  EXPECT_EQ(tables->bytes(), 0u);
  EXPECT_EQ(database.number("SELECT COUNT(*) FROM items"), 0);
}

TEST_F(TablesTest, WhatWasUnderWayAtTheEndWasInterrupted) {
  auto under_way = row("r");
  under_way.status = kInProgress;
  put(under_way);
  open({});
  EXPECT_EQ(tables->response("ann", "r", now)->status, kInterrupted);
}

TEST_F(TablesTest, ItemsOfAConversationComeInPages) {
  ASSERT_TRUE(tables->create({.id = "conv_1", .owner = "ann", .created = now, .metadata = "{}"}, {}, now));
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(tables->add("ann", "conv_1", {{.id = fmt::format("i{}", i), .doc = "{}"}}, {}, now));
  const auto ids = [&](Page page) {
    const auto found = tables->items("ann", "conv_1", page, now);
    std::string text;
    for (const auto& item : found.value().items) text += item.id + " ";
    return text + (found->more ? "more" : "end");
  };
  EXPECT_EQ(ids({.limit = 2}), "i4 i3 more");
  EXPECT_EQ(ids({.after = "i3", .limit = 2}), "i2 i1 more");
  EXPECT_EQ(ids({.after = "i1", .limit = 2}), "i0 end");
  EXPECT_EQ(ids({.newest_first = false, .limit = 5}), "i0 i1 i2 i3 i4 end");
  EXPECT_EQ(ids({.after = "i3", .newest_first = false}), "i4 end");
  EXPECT_EQ(tables->items("ann", "conv_1", {.after = "nobody"}, now).error().code, errc::not_found);
  EXPECT_EQ(tables->items("bob", "conv_1", {}, now).error().code, errc::not_found);
  EXPECT_EQ(tables->add("bob", "conv_1", {{"x", "{}"}}, {}, now).error().code, errc::not_found);
  EXPECT_EQ(tables->add("ann", "conv_1", {{"x", "{}"}}, {.rows = 5}, now).error().code, errc::too_long);
  EXPECT_EQ(tables->all_items("ann", "conv_1", {.rows = 4}, now).error().code, errc::too_long);
  EXPECT_EQ(tables->all_items("ann", "conv_1", {.bytes = 5}, now).error().code, errc::too_large);
  EXPECT_THAT(tables->all_items("ann", "conv_1", {}, now).value(), SizeIs(5));
  EXPECT_EQ(tables->item("ann", "conv_1", "i2", now)->id, "i2");
  EXPECT_EQ(tables->set_metadata("ann", "conv_1", R"({"a":"b"})", now)->metadata, R"({"a":"b"})");
}

TEST_F(TablesTest, ConversationsAreListedByTheirLastChangeToTheirOwnerAlone) {
  for (const auto* id : {"c1", "c2", "c3", "c4"})
    ASSERT_TRUE(tables->create({.id = id, .owner = "ann", .created = now, .metadata = "{}"}, {}, now));
  ASSERT_TRUE(tables->create({.id = "other", .owner = "bob", .created = now, .metadata = "{}"}, {}, now));
  const auto ids = [&](Page page, const std::string& owner = "ann") {
    const auto found = tables->conversations(owner, page, now);
    if (!found) return found.error().message;
    std::string text;
    for (const auto& row : found->conversations) text += row.id + " ";
    return text + (found->more ? "more" : "end");
  };
  EXPECT_EQ(ids({}), "c4 c3 c2 c1 end") << "of one moment, by their IDs";
  now += 10;
  ASSERT_TRUE(tables->add("ann", "c2", {{.id = "i", .doc = "{}"}}, {}, now));
  now += 10;
  ASSERT_TRUE(tables->set_metadata("ann", "c1", R"({"title":"One"})", now));
  EXPECT_EQ(ids({.limit = 2}), "c1 c2 more");
  EXPECT_EQ(ids({.after = "c2", .limit = 2}), "c4 c3 end");
  EXPECT_EQ(ids({.after = "c3"}), "end");
  EXPECT_EQ(ids({.newest_first = false, .limit = 3}), "c3 c4 c2 more");
  EXPECT_EQ(ids({.after = "c3", .newest_first = false, .limit = 2}), "c4 c2 more");
  EXPECT_EQ(ids({.after = "c2", .newest_first = false}), "c1 end");
  EXPECT_EQ(ids({}, "bob"), "other end");
  EXPECT_EQ(ids({}, ""), "end");
  EXPECT_EQ(ids({.after = "other"}), "unknown conversation 'other': it was never stored, was deleted or has expired");
  const auto first = tables->conversations("ann", {}, now)->conversations.front();
  EXPECT_EQ(first.changed, now);
  EXPECT_EQ(first.created, now - 20);
  EXPECT_EQ(first.metadata, R"({"title":"One"})");
  open({.response_age = 15});
  EXPECT_EQ(ids({}), "c1 c2 end");
  EXPECT_EQ(ids({.newest_first = false}), "c2 c1 end");
  EXPECT_EQ(ids({.after = "c3"}), "unknown conversation 'c3': it was never stored, was deleted or has expired");
}

}  // namespace
}  // namespace corral::store
