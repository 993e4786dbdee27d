#include "mesh/catalog/announcement_store.h"

#include <gtest/gtest.h>

#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using Verdict = AnnouncementStore::Verdict;

class AnnouncementStoreTest : public testing::Test {
 protected:
  struct Said {
    Head head;
    std::vector<Page> pages;
  };
  Said say(const SigningKey& key, std::uint64_t epoch, std::uint64_t seq, const std::string& name = "box") {
    NodeState statement;
    statement.name = name;
    Said said;
    said.head.boot = {epoch, {}};
    said.head.seq = seq;
    for (auto& text : encode_pages(statement)) {
      said.head.pages.push_back(ref_of(text));
      said.pages.push_back(std::make_shared<const std::string>(std::move(text)));
    }
    sign(said.head, key, mesh);
    return said;
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
  bool take(AnnouncementStore& book, const Said& said) {
    const auto taken = book.take(said.head, said.pages);
    return taken && *taken;
  }

  MeshId mesh = mesh_id({test_key(1).public_key(), {}});
  SigningKey a = test_key(1), b = test_key(2);
  PublicKey thrown_out;
  std::optional<NodeId> own;
};

TEST_F(AnnouncementStoreTest, OnlyMovesForward) {
  auto book = make();
  EXPECT_TRUE(take(book, say(a, 2, 5)));
  EXPECT_EQ(book.judge(say(a, 2, 5).head), Verdict::known);
  EXPECT_EQ(book.judge(say(a, 2, 4).head), Verdict::stale);
  EXPECT_EQ(book.judge(say(a, 1, 9).head), Verdict::stale);
  EXPECT_EQ(book.judge(say(a, 2, 6).head), Verdict::news);
  EXPECT_EQ(book.judge(say(a, 3, 1).head), Verdict::news);
  EXPECT_FALSE(take(book, say(a, 2, 4)));
  EXPECT_EQ(book.find(a.id())->head.seq, 5u);
}

TEST_F(AnnouncementStoreTest, AFullOneTakesTheOwnAnnouncementAndSaysWhatHasNoRoom) {
  own = b.id();
  auto book = make(10);
  const auto said = say(a, 1, 1);
  EXPECT_FALSE(book.has_room(a.id(), AnnouncementStore::size_of(said.head)));
  EXPECT_EQ(book.take(said.head, said.pages).error().code, errc::too_large);
  EXPECT_TRUE(book.has_room(b.id(), AnnouncementStore::size_of(say(b, 1, 1).head)));
  EXPECT_TRUE(take(book, say(b, 1, 1)));
}

TEST_F(AnnouncementStoreTest, OfTwoHeadsWithOneNumberAllKeepTheSame) {
  const auto one = say(a, 1, 1, "one"), two = say(a, 1, 1, "two");
  auto first = make(), second = make();
  take(first, one);
  take(first, two);
  take(second, two);
  take(second, one);
  EXPECT_EQ(first.find(a.id())->statement->name, second.find(a.id())->statement->name);
}

TEST_F(AnnouncementStoreTest, ForgedOnesAndThoseOfStrangersAreNone) {
  auto book = make();
  auto forged = say(a, 1, 1);
  forged.head.seq = 2;
  EXPECT_EQ(book.judge(forged.head), Verdict::forged);
  forged.head.author = b.public_key();
  EXPECT_EQ(book.judge(forged.head), Verdict::forged);
  thrown_out = a.public_key();
  EXPECT_EQ(book.judge(say(a, 1, 1).head), Verdict::nobody);
}

TEST_F(AnnouncementStoreTest, WhoIsThrownOutIsForgotten) {
  auto book = make();
  take(book, say(a, 1, 1));
  take(book, say(b, 1, 1));
  thrown_out = a.public_key();
  EXPECT_EQ(book.sweep(), std::vector{a.public_key()});
  EXPECT_EQ(book.find(a.id()), nullptr);
  EXPECT_NE(book.find(b.id()), nullptr);
  const auto left = book.bytes();
  thrown_out = b.public_key();
  book.sweep();
  EXPECT_GT(left, 0u);
  EXPECT_EQ(book.bytes(), 0u);
}

TEST_F(AnnouncementStoreTest, MissesOnlyWhatChangedAndGivesOutTheOwnOnesBefore) {
  own = a.id();
  auto book = make();
  const auto one = say(a, 1, 1, "one"), two = say(a, 1, 2, "two");
  take(book, one);
  const auto missing = book.missing(two.head);
  ASSERT_EQ(missing.size(), 1u);  // the disk's page is the same
  EXPECT_GT(two.head.pages.size(), 1u);
  const auto first = book.missing(one.head);
  EXPECT_TRUE(first.empty());
  take(book, two);
  for (const auto& ref : one.head.pages) EXPECT_TRUE(book.page(a.id(), ref.hash));
  for (int i = 3; i < 8; ++i) take(book, say(a, 1, static_cast<unsigned>(i), "n" + std::to_string(i)));
  EXPECT_FALSE(book.missing(one.head).empty());
  EXPECT_FALSE(book.page(b.id(), two.head.pages.front().hash));
  // Others give out theirs themselves.
  const auto before = say(b, 1, 1, "before"), after = say(b, 1, 2, "after");
  take(book, before);
  take(book, after);
  EXPECT_FALSE(book.missing(before.head).empty());
}

TEST_F(AnnouncementStoreTest, HasBounds) {
  auto book = make(400);
  EXPECT_TRUE(take(book, say(a, 1, 1)));
  const auto large = say(a, 1, 2, std::string(250, 'x'));
  const auto refused = book.take(large.head, large.pages);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::too_large);
  EXPECT_EQ(book.find(a.id())->head.seq, 1u);
}

TEST_F(AnnouncementStoreTest, PagesThatAreNoStatementAreRefused) {
  auto book = make();
  Head head;
  head.boot = {1, {}};
  head.seq = 1;
  head.pages = {ref_of("nonsense")};
  sign(head, a, mesh);
  EXPECT_EQ(book.take(head, {std::make_shared<const std::string>("nonsense")}).error().code, errc::malformed);
  EXPECT_EQ(book.take(head, {}).error().code, errc::malformed);
  EXPECT_EQ(book.find(a.id()), nullptr);
}

}  // namespace
}  // namespace corral::mesh
