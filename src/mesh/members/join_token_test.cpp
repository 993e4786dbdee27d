#include "mesh/members/join_token.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "mesh/identity/errors.h"
#include "mesh/members/join_token_store.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

const WallTime kNow{seconds(1'800'000'000)};

TEST(Address, ReadsWhatItWrites) {
  for (const auto* text : {"192.168.1.7:8100", "host-1.lan:1", "[fd00::1]:65535", "[fe80::1%eth0]:8100"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_text(*address), text);
  }
  for (const auto* text : {"", "host", "host:", ":8100", "host:0", "host:65536", "host:8x", "fd00::1:8100", "a b:1",
                           "[]:1", "host:-1", "[a%b]:1", "h/../x:1"}) {
    EXPECT_EQ(parse_address(text).error().code, errc::bad_address) << text;
  }
  EXPECT_EQ(parse_address(std::string(300, 'a') + ":1").error().code, errc::bad_address);
}

JoinToken some_token() {
  return {mesh_id({test_key(1).public_key(), {}}),
          {test_key(1).id(), test_key(2).id()},
          {*parse_address("10.0.0.1:8100"), *parse_address("[fd00::1]:8100")},
          {1, 2, 3},
          kNow};
}

TEST(JoinToken, IsOneLineThatComesBack) {
  const auto text = to_text(some_token());
  EXPECT_THAT(text, testing::StartsWith("corral-join_"));
  EXPECT_LT(text.size(), 300u);
  EXPECT_EQ(*parse_token(text), some_token());
  // As mails and terminals break it.
  EXPECT_EQ(*parse_token("  " + text.substr(0, 80) + "\r\n " + text.substr(80) + "\n"), some_token());
}

TEST(JoinToken, ATypoIsToldAsSuch) {
  const auto text = to_text(some_token());
  const std::size_t prefix = 12;
  for (std::size_t at = prefix; at < text.size(); ++at) {
    auto typo = text;
    typo[at] = typo[at] == 'A' ? 'B' : 'A';
    EXPECT_EQ(parse_token(typo).error().code, errc::token_mistyped) << at;
    typo[at] = '%';
    EXPECT_EQ(parse_token(typo).error().code, errc::token_mistyped) << at;
    EXPECT_EQ(parse_token(text.substr(0, at)).error().code, errc::token_mistyped) << at;
  }
  auto swapped = text;
  std::swap(swapped[40], swapped[41]);
  EXPECT_EQ(parse_token(swapped).error().code, errc::token_mistyped);
  EXPECT_EQ(parse_token(text + "A").error().code, errc::token_mistyped);
  EXPECT_EQ(parse_token("sk-1234").error().code, errc::token_malformed);
  EXPECT_EQ(parse_token("").error().code, errc::token_malformed);
  EXPECT_EQ(parse_token(std::string(1'000'000, 'A')).error().code, errc::token_malformed);
}

TEST(JoinToken, WhatSomebodyMadeUpIsRefused) {
  auto token = some_token();
  token.pins.clear();
  EXPECT_EQ(parse_token(to_text(token)).error().code, errc::token_malformed);
  token = some_token();
  token.pins.resize(kMaxPins + 1);
  EXPECT_EQ(parse_token(to_text(token)).error().code, errc::token_malformed);
  token = some_token();
  token.seeds.clear();
  EXPECT_EQ(parse_token(to_text(token)).error().code, errc::token_malformed);
  token = some_token();
  token.seeds.front().host = "a b; rm";
  EXPECT_EQ(parse_token(to_text(token)).error().code, errc::token_malformed);
}

TEST(TokenProof, HoldsForItsMeshItsNodeAndItsConnectionOnly) {
  const auto token = some_token();
  const auto joiner = test_key(5).public_key(), other = test_key(6).public_key();
  const Sha256 here{1}, elsewhere{2};
  const auto proof = make_proof(token, joiner, here);
  EXPECT_EQ(proof.token, token_key(token).public_key());
  EXPECT_TRUE(is_genuine(proof, token.mesh, joiner, here));
  EXPECT_FALSE(is_genuine(proof, token.mesh, joiner, elsewhere));
  EXPECT_FALSE(is_genuine(proof, token.mesh, other, here));
  EXPECT_FALSE(is_genuine(proof, MeshId{}, joiner, here));
}

struct TokenStoreTest : testing::Test {
  TestFolder folder;
  MeshId mesh = mesh_id({test_key(1).public_key(), {}});
  NodeId issuer = test_key(1).id(), joiner = test_key(2).id(), other = test_key(3).id();
  JoinTokenStore store = *JoinTokenStore::open(folder.path());

  JoinToken issue(WallTime now = kNow) {
    return *at_once(store.issue(mesh, issuer, {.seeds = {*parse_address("10.0.0.1:8100")}}, now));
  }
  static TokenId id_of(const JoinToken& token) { return token_id(token_key(token).public_key()); }
  void reopen() { store = *JoinTokenStore::open(folder.path()); }
};

TEST_F(TokenStoreTest, ATokenIsUsedOnceAndByOneNodeAlsoAfterARestart) {
  const auto token = issue();
  EXPECT_EQ(token.pins, std::vector{issuer});
  EXPECT_EQ(token.expires, kNow + hours(1));
  EXPECT_EQ(store.open_count(kNow), 1u);
  reopen();
  ASSERT_TRUE(at_once(store.use(id_of(token), joiner, kNow)));
  reopen();
  EXPECT_EQ(store.open_count(kNow), 0u);
  EXPECT_EQ(at_once(store.use(id_of(token), other, kNow)).error().code, errc::token_used);
  EXPECT_TRUE(at_once(store.use(id_of(token), joiner, kNow)));  // its answer was lost
  EXPECT_EQ(store.list().front().used_by, joiner);
  EXPECT_EQ(at_once(store.withdraw(short_text(id_of(token)))).error().code, errc::token_used);
}

TEST_F(TokenStoreTest, RefusesWhatIsUnknownExpiredOrWithdrawn) {
  const auto expiring = issue(), withdrawn = issue();
  EXPECT_EQ(at_once(store.use({}, joiner, kNow)).error().code, errc::token_unknown);
  EXPECT_TRUE(store.check(id_of(expiring), joiner, kNow + minutes(59)));
  EXPECT_EQ(at_once(store.use(id_of(expiring), joiner, kNow + hours(1))).error().code, errc::token_expired);
  ASSERT_TRUE(at_once(store.withdraw(short_text(id_of(withdrawn)))));
  reopen();
  EXPECT_EQ(at_once(store.use(id_of(withdrawn), joiner, kNow)).error().code, errc::token_withdrawn);
  EXPECT_EQ(at_once(store.withdraw("zz")).error().code, errc::token_unknown);
  EXPECT_EQ(at_once(store.withdraw("")).error().code, errc::token_unknown);
}

TEST_F(TokenStoreTest, AUseThatCantBeWrittenIsRefused) {
  const auto token = issue();
  std::filesystem::create_directory(folder / "tokens.new");
  EXPECT_FALSE(at_once(store.use(id_of(token), joiner, kNow)));
  std::filesystem::remove(folder / "tokens.new");
  EXPECT_TRUE(at_once(store.use(id_of(token), other, kNow)));  // it is still open
}

TEST_F(TokenStoreTest, TheFileHoldsNothingToJoinWith) {
  const auto token = issue();
  std::ostringstream file;
  file << std::ifstream(folder / kTokensFile).rdbuf();
  EXPECT_THAT(file.str(), testing::Not(HasSubstr(std::string(as_text(token.secret)))));
  EXPECT_THAT(file.str(), testing::Not(HasSubstr(std::string(as_text(token_key(token).public_key().bytes)))));
}

TEST_F(TokenStoreTest, IsBounded) {
  for (std::size_t i = 0; i < JoinTokenStore::kMaxOpen; ++i) (void)issue();
  const JoinTokenOptions options{.seeds = {*parse_address("10.0.0.1:8100")}};
  EXPECT_EQ(at_once(store.issue(mesh, issuer, options, kNow)).error().code, errc::too_many);
  EXPECT_TRUE(at_once(store.issue(mesh, issuer, options, kNow + hours(2))));
  EXPECT_EQ(at_once(store.issue(mesh, issuer, {}, kNow + hours(2))).error().code, errc::bad_address);
  EXPECT_EQ(at_once(store.issue(mesh, issuer, {hours(1000), options.seeds}, kNow)).error().code, errc::malformed);
}

TEST_F(TokenStoreTest, RubbishIsPutAside) {
  const auto token = issue();
  {
    std::fstream file(folder / kTokensFile, std::ios::in | std::ios::out);
    file.seekp(20);
    file << '!';
  }
  reopen();
  EXPECT_TRUE(store.list().empty());
  EXPECT_TRUE(std::filesystem::exists(folder / "tokens.broken"));
}

}  // namespace
}  // namespace corral::mesh
