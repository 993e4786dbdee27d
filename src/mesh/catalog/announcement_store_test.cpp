#include "mesh/catalog/announcement_store.h"

#include <gtest/gtest.h>

#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using Verdict = AnnouncementStore::Verdict;

class AnnouncementStoreTest : public testing::Test {
 protected:
  struct TestAnnouncement {
    Head head;
    std::vector<Page> pages;
  };
  TestAnnouncement announce(const SigningKey& key, std::uint64_t epoch, std::uint64_t seq,
                            const std::string& name = "box") {
    NodeState statement;
    statement.name = name;
    TestAnnouncement announced;
    announced.head.boot = {epoch, {}};
    announced.head.seq = seq;
    for (auto& text : encode_pages(statement)) {
      announced.head.pages.push_back(ref_of(text));
      announced.pages.push_back(std::make_shared<const std::string>(std::move(text)));
    }
    sign(announced.head, key, mesh);
    return announced;
  }
  AnnouncementStore make(std::size_t bytes = 1 << 20) {
    AnnouncementStore::Options options;
    options.own = own;
    options.bytes = bytes;
    options.standing = [this](const PublicKey& key) {
      return key == thrown_out ? MembershipStatus::revoked : MembershipStatus::member;
    };
    options.genuine = [this](const Head& head) { return is_genuine(mesh, head); };
    return AnnouncementStore(options);
  }
  bool take(AnnouncementStore& store, const TestAnnouncement& announced) {
    const auto taken = store.take(announced.head, announced.pages);
    return taken && *taken;
  }

  MeshId mesh = mesh_id({test_key(1).public_key(), {}});
  SigningKey a = test_key(1), b = test_key(2);
  PublicKey thrown_out;
  std::optional<NodeId> own;
};

TEST_F(AnnouncementStoreTest, OnlyMovesForward) {
  auto store = make();
  EXPECT_TRUE(take(store, announce(a, 2, 5)));
  EXPECT_EQ(store.judge(announce(a, 2, 5).head), Verdict::known);
  EXPECT_EQ(store.judge(announce(a, 2, 4).head), Verdict::stale);
  EXPECT_EQ(store.judge(announce(a, 1, 9).head), Verdict::stale);
  EXPECT_EQ(store.judge(announce(a, 2, 6).head), Verdict::newer);
  EXPECT_EQ(store.judge(announce(a, 3, 1).head), Verdict::newer);
  EXPECT_FALSE(take(store, announce(a, 2, 4)));
  EXPECT_EQ(store.find(a.id())->head.seq, 5u);
}

TEST_F(AnnouncementStoreTest, AFullOneTakesTheOwnAnnouncementAndSaysWhatHasNoRoom) {
  own = b.id();
  auto store = make(10);
  const auto announced = announce(a, 1, 1);
  EXPECT_FALSE(store.has_room(a.id(), AnnouncementStore::size_of(announced.head)));
  EXPECT_EQ(store.take(announced.head, announced.pages).error().code, errc::too_large);
  EXPECT_TRUE(store.has_room(b.id(), AnnouncementStore::size_of(announce(b, 1, 1).head)));
  EXPECT_TRUE(take(store, announce(b, 1, 1)));
}

TEST_F(AnnouncementStoreTest, OfTwoHeadsWithOneNumberAllKeepTheSame) {
  const auto one = announce(a, 1, 1, "one"), two = announce(a, 1, 1, "two");
  auto first = make(), second = make();
  take(first, one);
  take(first, two);
  take(second, two);
  take(second, one);
  EXPECT_EQ(first.find(a.id())->statement->name, second.find(a.id())->statement->name);
}

TEST_F(AnnouncementStoreTest, ForgedOnesAndThoseOfStrangersAreNone) {
  auto store = make();
  auto forged = announce(a, 1, 1);
  forged.head.seq = 2;
  EXPECT_EQ(store.judge(forged.head), Verdict::forged);
  forged.head.author = b.public_key();
  EXPECT_EQ(store.judge(forged.head), Verdict::forged);
  thrown_out = a.public_key();
  EXPECT_EQ(store.judge(announce(a, 1, 1).head), Verdict::unknown_author);
}

TEST_F(AnnouncementStoreTest, WhoIsThrownOutIsForgotten) {
  auto store = make();
  take(store, announce(a, 1, 1));
  take(store, announce(b, 1, 1));
  thrown_out = a.public_key();
  EXPECT_EQ(store.sweep(), std::vector{a.public_key()});
  EXPECT_EQ(store.find(a.id()), nullptr);
  EXPECT_NE(store.find(b.id()), nullptr);
  const auto left = store.bytes();
  thrown_out = b.public_key();
  store.sweep();
  EXPECT_GT(left, 0u);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST_F(AnnouncementStoreTest, MissesOnlyWhatChangedAndGivesOutTheOwnOnesBefore) {
  own = a.id();
  auto store = make();
  const auto one = announce(a, 1, 1, "one"), two = announce(a, 1, 2, "two");
  take(store, one);
  const auto missing = store.missing(two.head);
  ASSERT_EQ(missing.size(), 1u);  // the disk's page is the same
  EXPECT_GT(two.head.pages.size(), 1u);
  const auto first = store.missing(one.head);
  EXPECT_TRUE(first.empty());
  take(store, two);
  for (const auto& ref : one.head.pages) EXPECT_TRUE(store.page(a.id(), ref.hash));
  for (int i = 3; i < 8; ++i) take(store, announce(a, 1, static_cast<unsigned>(i), "n" + std::to_string(i)));
  EXPECT_FALSE(store.missing(one.head).empty());
  EXPECT_FALSE(store.page(b.id(), two.head.pages.front().hash));
  // Others give out theirs themselves.
  const auto before = announce(b, 1, 1, "before"), after = announce(b, 1, 2, "after");
  take(store, before);
  take(store, after);
  EXPECT_FALSE(store.missing(before.head).empty());
}

TEST_F(AnnouncementStoreTest, HasBounds) {
  auto store = make(400);
  EXPECT_TRUE(take(store, announce(a, 1, 1)));
  const auto large = announce(a, 1, 2, std::string(250, 'x'));
  const auto refused = store.take(large.head, large.pages);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::too_large);
  EXPECT_EQ(store.find(a.id())->head.seq, 1u);
}

TEST_F(AnnouncementStoreTest, PagesThatAreNoStatementAreRefused) {
  auto store = make();
  Head head;
  head.boot = {1, {}};
  head.seq = 1;
  head.pages = {ref_of("nonsense")};
  sign(head, a, mesh);
  EXPECT_EQ(store.take(head, {std::make_shared<const std::string>("nonsense")}).error().code, errc::malformed);
  EXPECT_EQ(store.take(head, {}).error().code, errc::malformed);
  EXPECT_EQ(store.find(a.id()), nullptr);
}

}  // namespace
}  // namespace corral::mesh
