// Members, case by case. How copies are merged is in member_merge_test.cpp.
#include "mesh/members/member_set.h"

#include <fstream>

#include <gmock/gmock.h>

#include "mesh/identity/errors.h"
#include "mesh/members/member_store.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct MemberSetTest : testing::Test {
  SigningKey a = test_key(1), b = test_key(2), c = test_key(3), d = test_key(4);
  Founding founding{a.public_key(), {7}};
  MemberSet set{founding};

  MemberRecord admit(const SigningKey& issuer, const SigningKey& subject) {
    return sign_admit(issuer, set.mesh(), subject.public_key());
  }
  MemberRecord revoke(const SigningKey& issuer, const SigningKey& subject, std::vector<PublicKey> keep = {}) {
    return sign_revoke(issuer, set.mesh(), subject.public_key(), std::move(keep));
  }
  Result<bool> add(std::vector<MemberRecord> records) { return set.add(records); }
  // Refused for that cause, and nothing has changed.
  void expect_refused(const std::vector<MemberRecord>& records, errc cause) {
    const auto before = encode(set);
    const auto added = set.add(records);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, cause) << added.error().message;
    EXPECT_EQ(encode(set), before);
  }
  MembershipStatus standing(const SigningKey& key) { return set.standing(key.public_key()); }
};

TEST_F(MemberSetTest, TheFounderAdmitsAndWhoWasAdmittedAdmitsToo) {
  EXPECT_EQ(standing(a), MembershipStatus::member);
  EXPECT_EQ(standing(b), MembershipStatus::unknown);
  // In any order within one delivery.
  EXPECT_TRUE(*add({admit(b, c), admit(a, b)}));
  EXPECT_THAT(set.members(), UnorderedElementsAre(a.public_key(), b.public_key(), c.public_key()));
  EXPECT_EQ(set.standing(c.id()), MembershipStatus::member);
  EXPECT_FALSE(*add({admit(a, b)}));
}

TEST_F(MemberSetTest, WhatNoMemberSignedIsRefusedWhole) {
  expect_refused({admit(b, c)}, errc::not_a_member);
  expect_refused({admit(a, b), admit(c, d)}, errc::not_a_member);
  expect_refused({revoke(b, a)}, errc::not_a_member);
  expect_refused({revoke(a, b), admit(b, c)}, errc::not_a_member);
  const auto other = mesh_id({a.public_key(), {8}});
  expect_refused({sign_admit(a, other, b.public_key())}, errc::forged);  // of the founder's other mesh
}

TEST_F(MemberSetTest, AForgedRecordTakesItsWholeDeliveryAlong) {
  auto forged = std::get<Admit>(admit(a, c));
  forged.subject = d.public_key();
  expect_refused({admit(a, b), forged}, errc::forged);
  auto wider = std::get<Revoke>(revoke(a, b));
  ASSERT_TRUE(add({admit(a, b)}));
  wider.keep.push_back(c.public_key());
  expect_refused({wider}, errc::forged);
}

TEST_F(MemberSetTest, ARevokeHoldsForEver) {
  ASSERT_TRUE(add({admit(a, b), admit(a, c), revoke(a, b)}));
  EXPECT_EQ(standing(b), MembershipStatus::revoked);
  ASSERT_TRUE(add({admit(c, b)}));
  EXPECT_EQ(standing(b), MembershipStatus::revoked);
}

TEST_F(MemberSetTest, OfTheRevokedOnesAdmitsThoseStandThatTheRevokeKeeps) {
  ASSERT_TRUE(add({admit(a, b), admit(b, c), admit(b, d), revoke(a, b, {c.public_key()})}));
  EXPECT_EQ(standing(c), MembershipStatus::member);
  EXPECT_EQ(standing(d), MembershipStatus::unknown);
  // What it signs later, too.
  const auto late = test_key(9);
  ASSERT_TRUE(add({admit(b, late)}));
  EXPECT_EQ(standing(late), MembershipStatus::unknown);
  // Another member takes d in again.
  ASSERT_TRUE(add({admit(c, d)}));
  EXPECT_EQ(standing(d), MembershipStatus::member);
}

TEST_F(MemberSetTest, OfTwoRevokesOnlyWhatBothKeepStands) {
  ASSERT_TRUE(add({admit(a, b), admit(b, c), admit(b, d), revoke(a, b, {c.public_key(), d.public_key()})}));
  ASSERT_TRUE(add({revoke(c, b, {d.public_key()})}));
  EXPECT_EQ(standing(c), MembershipStatus::unknown);  // it didn't keep itself
  EXPECT_EQ(standing(d), MembershipStatus::member);
}

TEST_F(MemberSetTest, OneIssuerCanNarrowItsRevokeButNotWidenIt) {
  ASSERT_TRUE(add({admit(a, b), admit(b, c), admit(b, d)}));
  ASSERT_TRUE(*add({revoke(a, b, {c.public_key(), d.public_key()})}));
  ASSERT_TRUE(*add({revoke(a, b, {c.public_key()})}));
  EXPECT_EQ(standing(d), MembershipStatus::unknown);
  EXPECT_FALSE(*add({revoke(a, b, {c.public_key(), d.public_key()})}));
  EXPECT_EQ(standing(d), MembershipStatus::unknown);
}

// Who holds a key can sign one thing in endlessly many ways: only what is signed is news.
TEST_F(MemberSetTest, AnotherSignatureUnderTheSameIsNoNews) {
  auto again = std::get<Admit>(admit(a, b));
  auto out = std::get<Revoke>(revoke(a, b, {c.public_key()}));
  ASSERT_TRUE(add({again, out}));
  const auto before = encode(set);
  again.signature = out.signature = {};
  EXPECT_EQ(set.count_new(std::vector<MemberRecord>{again, out}), 0u);
  const auto added = add({again, out});
  ASSERT_TRUE(added) << "it was verified";
  EXPECT_FALSE(*added);
  EXPECT_EQ(encode(set), before);
}

TEST_F(MemberSetTest, RevokesOfOneThatContradictEachOtherHaveAnEnd) {
  ASSERT_TRUE(add({admit(a, b), admit(b, c), admit(b, d)}));
  std::vector<MemberRecord> endless;
  for (unsigned i = 0; i < 10; ++i) {
    endless.push_back(revoke(a, b, {c.public_key(), d.public_key(), test_key(10 + i).public_key()}));
  }
  std::size_t added = 0;
  for (const auto& one : endless) {
    EXPECT_EQ(standing(c) == MembershipStatus::member, added < kMaxRevokesOfPair);
    added += *add({one}) ? 1 : 0;
  }
  EXPECT_EQ(added, kMaxRevokesOfPair);
  EXPECT_EQ(standing(b), MembershipStatus::revoked);
  EXPECT_EQ(standing(c), MembershipStatus::unknown);
  // Whoever heard others of them, or in another order, has the same set.
  MemberSet other(founding);
  ASSERT_TRUE(other.add(std::vector{admit(a, b), admit(b, c), admit(b, d)}));
  for (std::size_t i = endless.size(); i-- > 5;) EXPECT_TRUE(other.add({&endless[i], 1}));
  EXPECT_TRUE(other == set);
  EXPECT_EQ(other.digest(), set.digest());
  EXPECT_FALSE(*other.merge(set));
}

TEST_F(MemberSetTest, TwoThatRevokeEachOtherAreBothOut) {
  ASSERT_TRUE(add({admit(a, b), admit(a, c), revoke(b, c), revoke(c, b)}));
  EXPECT_THAT(set.members(), UnorderedElementsAre(a.public_key()));
}

TEST_F(MemberSetTest, TheFounderCanLeave) {
  ASSERT_TRUE(add({admit(a, b), admit(a, c), revoke(b, a, {b.public_key()})}));
  EXPECT_THAT(set.members(), UnorderedElementsAre(b.public_key()));
  EXPECT_EQ(standing(a), MembershipStatus::revoked);
}

TEST_F(MemberSetTest, IsBounded) {
  MemberSet small(founding, {.records = 3, .per_issuer = 2, .bytes = 10'000});
  const auto mesh = small.mesh();
  const std::vector<MemberRecord> two{sign_admit(a, mesh, b.public_key()), sign_admit(a, mesh, c.public_key())};
  ASSERT_TRUE(small.add(two));
  const std::vector<MemberRecord> third{sign_admit(a, mesh, d.public_key())};
  EXPECT_EQ(small.add(third).error().code, errc::too_many);
  // Admits don't use up the room for revokes.
  ASSERT_TRUE(small.add(std::vector<MemberRecord>{sign_revoke(a, mesh, b.public_key(), {})}));
  EXPECT_EQ(small.add(std::vector<MemberRecord>{sign_admit(c, mesh, d.public_key())}).error().code, errc::too_many);
  EXPECT_EQ(small.size(), 3u);
}

TEST_F(MemberSetTest, ComesBackFromItsBytes) {
  ASSERT_TRUE(add({admit(a, b), admit(b, c), revoke(a, b, {c.public_key()})}));
  const auto bytes = encode(set);
  const auto back = decode_members(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(*back == set);
  EXPECT_EQ(back->digest(), set.digest());
  EXPECT_EQ(back->members(), set.members());
}

TEST_F(MemberSetTest, NoPrefixAndNoFlippedBitOfItsBytesPasses) {
  ASSERT_TRUE(add({admit(a, b), revoke(b, a, {b.public_key()})}));
  const auto bytes = encode(set);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_members(std::string_view(bytes).substr(0, length))) << length;
  }
  EXPECT_EQ(decode_members(bytes + "x").error().code, errc::malformed);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    auto changed = bytes;
    changed[at] ^= static_cast<char>(1 << at % 8);
    EXPECT_FALSE(decode_members(changed)) << at;
  }
}

TEST_F(MemberSetTest, ABookThatTellsOfMoreThanItHoldsAllocatesNothingForIt) {
  auto bytes = encode(set);
  for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = '\xff';
  EXPECT_EQ(decode_members(bytes).error().code, errc::too_many);
}

struct MemberSetStoreTest : MemberSetTest {
  TestFolder folder;
  MemberStore store() { return *MemberStore::begin(folder.path(), set); }
};

TEST_F(MemberSetStoreTest, KeepsWhatItSigns) {
  EXPECT_FALSE(MemberStore::open(folder.path())->has_value());
  auto kept = store();
  ASSERT_TRUE(at_once(kept.admit(a, b.public_key())));
  ASSERT_TRUE(at_once(kept.admit(b, c.public_key())));
  ASSERT_TRUE(at_once(kept.revoke(a, b.public_key(), kept.set().admitted_by(b.public_key()))));
  const auto again = MemberStore::open(folder.path());
  ASSERT_TRUE(again && *again);
  EXPECT_TRUE((*again)->set() == kept.set());
  EXPECT_EQ((*again)->set().standing(c.public_key()), MembershipStatus::member);
}

TEST_F(MemberSetStoreTest, OnlyMembersSignAndNobodyComesBack) {
  auto kept = store();
  EXPECT_EQ(at_once(kept.admit(b, c.public_key())).error().code, errc::not_a_member);
  EXPECT_EQ(at_once(kept.revoke(a, b.public_key(), {})).error().code, errc::not_a_member);
  ASSERT_TRUE(at_once(kept.admit(a, b.public_key())));
  ASSERT_TRUE(at_once(kept.revoke(a, b.public_key(), {})));
  EXPECT_EQ(at_once(kept.admit(b, c.public_key())).error().code, errc::revoked);
  EXPECT_EQ(at_once(kept.admit(a, b.public_key())).error().code, errc::revoked);
  // Leaving.
  ASSERT_TRUE(at_once(kept.revoke(a, a.public_key(), {})));
  EXPECT_EQ(at_once(kept.admit(a, c.public_key())).error().code, errc::revoked);
}

TEST_F(MemberSetStoreTest, AnAdmitThatCantBeWrittenIsNoneButARevocationThatWasToldHolds) {
  auto kept = store();
  ASSERT_TRUE(at_once(kept.admit(a, b.public_key())));
  // Nothing can be written where a folder stands in the way.
  std::filesystem::create_directory(folder / "members.new");
  EXPECT_FALSE(at_once(kept.admit(a, c.public_key())));
  EXPECT_EQ(kept.set().standing(c.public_key()), MembershipStatus::unknown);
  const std::vector records{revoke(a, b)};
  EXPECT_TRUE(*kept.learn(records));
  EXPECT_EQ(kept.set().standing(b.public_key()), MembershipStatus::revoked);
  EXPECT_FALSE(at_once(kept.save()));
  std::filesystem::remove(folder / "members.new");
  EXPECT_TRUE(at_once(kept.save()));
  EXPECT_EQ((*MemberStore::open(folder.path()))->set().standing(b.public_key()), MembershipStatus::revoked);
}

TEST_F(MemberSetStoreTest, ADamagedFileIsToldAndLeftAlone) {
  (void)store();
  std::ofstream(folder / kMembersFile, std::ios::app) << "x";
  const auto opened = MemberStore::open(folder.path());
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("join again"));
  EXPECT_TRUE(std::filesystem::exists(folder / kMembersFile));
}

}  // namespace
}  // namespace corral::mesh
