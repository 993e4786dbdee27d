// Copies of the members' set that went through random histories: merging them in any way gives the same, and what holds
// of members is what a slow and simple reading of the rules says. Failing histories that were found are kept below.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "mesh/identity/errors.h"
#include "mesh/members/member_set.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

constexpr unsigned kKeys = 7;
constexpr unsigned kCopies = 3;

struct Act {
  enum Kind { admit, revoke, exchange } kind;
  unsigned copy;     // that it happens at
  unsigned issuer;   // key; for tell, the copy that is told
  unsigned subject;  // key
  unsigned keep;     // bits: keys that a revoke keeps
};

const SigningKey& key(unsigned number) {
  static const auto keys = [] {
    std::vector<SigningKey> made;
    for (unsigned i = 0; i < kKeys; ++i) made.push_back(test_key(i + 1));
    return made;
  }();
  return keys[number % kKeys];
}

// Plays what the acts say; what a copy may not do is refused there.
std::vector<MemberSet> play(const std::vector<Act>& acts) {
  const Founding founding{key(0).public_key(), {}};
  std::vector<MemberSet> copies(kCopies, MemberSet(founding));
  for (const auto& act : acts) {
    auto& copy = copies[act.copy];
    if (act.kind == Act::exchange) {
      EXPECT_TRUE(copies[act.issuer % kCopies].merge(copy));
      continue;
    }
    if (act.kind == Act::admit && act.issuer == act.subject) continue;
    std::vector<PublicKey> keep;
    for (unsigned i = 0; i < kKeys; ++i) {
      if ((act.keep >> i & 1) != 0) keep.push_back(key(i).public_key());
    }
    const auto& subject = key(act.subject).public_key();
    const MemberRecord record = act.kind == Act::admit
                                    ? MemberRecord(sign_admit(key(act.issuer), copy.mesh(), subject))
                                    : MemberRecord(sign_revoke(key(act.issuer), copy.mesh(), subject, keep));
    const auto added = copy.add({&record, 1});
    if (!added) EXPECT_EQ(added.error().code, errc::not_a_member);
  }
  return copies;
}

MemberSet merged(MemberSet a, const MemberSet& b) {
  EXPECT_TRUE(a.merge(b));
  return a;
}

bool contains(const std::vector<PublicKey>& keys, const PublicKey& one) {
  return std::ranges::find(keys, one) != keys.end();
}

// The rules of member_set.h, by asking again until nothing changes.
std::vector<PublicKey> read_slowly(const MemberSet& set) {
  const auto records = set.records();
  const auto stands = [&](const Admit& admit) {
    return std::ranges::all_of(records, [&](const MemberRecord& record) {
      const auto* revoke = std::get_if<Revoke>(&record);
      return !revoke || revoke->subject != admit.issuer || contains(revoke->keep, admit.subject);
    });
  };
  const auto revoked = [&](const PublicKey& subject) {
    return std::ranges::any_of(records, [&](const MemberRecord& record) {
      return std::holds_alternative<Revoke>(record) && subject_of(record) == subject;
    });
  };
  std::vector<PublicKey> vouched{set.founding().founder};
  for (std::size_t before = 0; before != vouched.size();) {
    before = vouched.size();
    for (const auto& record : records) {
      const auto* admit = std::get_if<Admit>(&record);
      if (admit && stands(*admit) && contains(vouched, admit->issuer) && !contains(vouched, admit->subject)) {
        vouched.push_back(admit->subject);
      }
    }
  }
  std::erase_if(vouched, revoked);
  std::ranges::sort(vouched);
  return vouched;
}

void check(const std::vector<Act>& acts) {
  const auto copies = play(acts);
  const auto &a = copies[0], &b = copies[1], &c = copies[2];
  EXPECT_TRUE(merged(a, b) == merged(b, a));
  EXPECT_TRUE(merged(merged(a, b), c) == merged(a, merged(b, c)));
  EXPECT_TRUE(merged(a, a) == a);
  const auto all = merged(merged(a, b), c);
  EXPECT_TRUE(merged(all, b) == all);
  for (const auto* set : {&a, &b, &c, &all}) EXPECT_EQ(set->members(), read_slowly(*set));
  // What was revoked anywhere is out everywhere; records that were delivered give what merging gives.
  for (const auto& record : all.records()) {
    if (std::holds_alternative<Revoke>(record)) EXPECT_EQ(all.standing(subject_of(record)), MembershipStatus::revoked);
  }
  auto third = a;
  auto backwards = b.records();
  std::ranges::reverse(backwards);
  EXPECT_TRUE(third.add(backwards));
  EXPECT_TRUE(third == merged(a, b));
  EXPECT_TRUE(*decode_members(encode(all)) == all);
}

std::vector<Act> random_acts(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Act> acts;
  for (int i = 0; i < 24; ++i) {
    const auto kind = random() % 8;
    Act act{kind < 4 ? Act::admit : kind < 6 ? Act::revoke : Act::exchange, 0, 0, 0, 0};
    act.copy = random() % kCopies;
    act.issuer = random() % kKeys;
    act.subject = random() % kKeys;
    act.keep = random() % (1u << kKeys);
    acts.push_back(act);
  }
  return acts;
}

TEST(MemberMerge, IsTheSameInAnyOrderAndAsOftenAsYouLike) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    check(random_acts(seed));
    if (testing::Test::HasFailure()) return;
  }
}

// Two copies in which one issuer narrowed its revoke differently: both must end with the same one.
TEST(MemberMerge, RevokesOfOneIssuerThatKeepDifferently) {
  check({{Act::admit, 0, 0, 1, 0},
         {Act::exchange, 0, 1, 0, 0},
         {Act::admit, 0, 1, 2, 0},
         {Act::admit, 1, 1, 3, 0},
         {Act::revoke, 0, 0, 1, 0b0100},
         {Act::revoke, 1, 0, 1, 0b1000}});
}

// Each throws the other out while they are apart, and admits somebody of its own.
TEST(MemberMerge, TwoThatRevokeEachOtherWhileApart) {
  check({{Act::admit, 0, 0, 1, 0},
         {Act::admit, 0, 0, 2, 0},
         {Act::exchange, 0, 1, 0, 0},
         {Act::revoke, 0, 1, 2, 0},
         {Act::revoke, 1, 2, 1, 0},
         {Act::admit, 0, 1, 3, 0},
         {Act::admit, 1, 2, 4, 0}});
}

// A revoke whose issuer loses its own chain through it: it still counts.
TEST(MemberMerge, ARevokeThatCutsItsOwnIssuerOff) {
  check({{Act::admit, 0, 0, 1, 0}, {Act::admit, 0, 1, 2, 0}, {Act::revoke, 0, 2, 1, 0}, {Act::exchange, 0, 1, 0, 0}});
}

}  // namespace
}  // namespace corral::mesh
