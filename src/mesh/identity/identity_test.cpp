#include "mesh/identity/identity.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "mesh/identity/epoch.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}
void put(const fs::path& file, std::string_view text, mode_t mode = 0600) {
  std::ofstream(file) << text;
  ::chmod(file.c_str(), mode);
}

TEST(Keys, NodeIdIsTheHashOfTheKeyAsCertificatesHoldIt) {
  const auto key = test_key(1);
  // RFC 8410
  const auto spki =
      std::string("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\0", 12).append(as_text(key.public_key().bytes));
  EXPECT_EQ(spki.size(), 44u);
  EXPECT_EQ(key.id().bytes, sha256({spki}));
  EXPECT_EQ(from_spki(spki), key.public_key());
  EXPECT_FALSE(from_spki(spki + "x"));
  EXPECT_FALSE(from_spki(std::string(44, 'x')));
  EXPECT_EQ(parse_node_id(to_text(key.id())), key.id());
  EXPECT_FALSE(parse_node_id("12"));
}

TEST(Keys, ASignatureFitsItsKeyItsPurposeAndItsTextOnly) {
  const auto key = test_key(1);
  const auto signature = key.sign(Domain::admit, "text");
  EXPECT_TRUE(verify(key.public_key(), Domain::admit, "text", signature));
  EXPECT_EQ(signature, key.sign(Domain::admit, "text"));
  EXPECT_FALSE(verify(key.public_key(), Domain::revoke, "text", signature));
  EXPECT_FALSE(verify(key.public_key(), Domain::admit, "texT", signature));
  EXPECT_FALSE(verify(test_key(2).public_key(), Domain::admit, "text", signature));
  auto changed = signature;
  changed.bytes[63] ^= 1;
  EXPECT_FALSE(verify(key.public_key(), Domain::admit, "text", changed));
  EXPECT_FALSE(verify(PublicKey{}, Domain::admit, "text", signature));
}

TEST(Identity, IsMadeOnceAndReadableByItsOwnerOnly) {
  const TestFolder folder;
  const auto first = open_identity(folder.path());
  ASSERT_TRUE(first) << first.error().message;
  struct stat status{};
  ASSERT_EQ(::stat((folder / kIdentityFile).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  const auto second = open_identity(folder.path());
  EXPECT_EQ(second->id(), first->id());
  EXPECT_EQ(read_identity_file(folder / kIdentityFile)->id(), first->id());
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1);
}

TEST(Identity, IsNeverReplacedByANewOne) {
  const TestFolder folder;
  for (const auto* text : {"", "rubbish", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}) {
    put(folder / kIdentityFile, text);
    const auto key = open_identity(folder.path());
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().code, errc::unusable_identity);
    EXPECT_EQ(text_of(folder / kIdentityFile), text);
  }
}

TEST(Identity, AFileThatOthersMayReadIsRefused) {
  const TestFolder folder;
  const auto pem = test_key(1).to_pem();
  put(folder / kIdentityFile, pem, 0640);
  EXPECT_THAT(open_identity(folder.path()).error().message, HasSubstr("chmod 600"));
  EXPECT_TRUE(read_identity_file(folder / kIdentityFile));  // a service's file may be its group's to read
  put(folder / "open.pem", pem, 0644);
  EXPECT_EQ(read_identity_file(folder / "open.pem").error().code, errc::unusable_identity);
  EXPECT_EQ(read_identity_file(folder / "none.pem").error().code, errc::unusable_identity);
  EXPECT_FALSE(fs::exists(folder / "none.pem"));
  EXPECT_EQ(read_identity_file(folder.path()).error().code, errc::unusable_identity);
}

// Made by `openssl ecparam -name prime256v1 -genkey -noout` for this test.
TEST(Identity, AKeyOfAnotherKindSaysHowToMakeOne) {
  constexpr auto kP256 =
      "-----BEGIN EC PRIVATE KEY-----\n"
      "MHcCAQEEIBGyGH5oLQsS1dPXtVcLVeAvyzI08YTCpm9vA5GVVdLroAoGCCqGSM49\n"
      "AwEHoUQDQgAEFDHjMMoi9Qa5EnUjU3JXnI3OEpZnrBF0TFhZ7zR+yK1mxyPpT6RD\n"
      "-----END EC PRIVATE KEY-----\n";
  EXPECT_EQ(SigningKey::from_pem(kP256).error().code, errc::unusable_identity);
}

TEST(Epoch, CountsStartsAndSurvivesRubbish) {
  const TestFolder folder;
  EXPECT_EQ(count_boot(folder.path())->epoch, 1u);
  const auto second = count_boot(folder.path());
  EXPECT_EQ(second->epoch, 2u);
  EXPECT_EQ(text_of(folder / kEpochFile), "2\n");
  for (const auto* text : {"", "x", "-3\n", "3", "99999999999999999999\n", "0\n"}) {
    put(folder / kEpochFile, text);
    const auto boot = count_boot(folder.path());
    EXPECT_EQ(boot->epoch, 1u) << text;
    EXPECT_NE(boot->nonce, second->nonce);
  }
  EXPECT_TRUE(fs::exists(folder / "epoch.broken-6"));
  ASSERT_TRUE(keep_epoch(folder.path(), 7));
  EXPECT_EQ(count_boot(folder.path())->epoch, 8u);
}

TEST(Epoch, ALostCountIsLearntFromOwnSignatures) {
  const auto key = test_key(1), other = test_key(2);
  const auto& own = key.public_key();
  const Boot now{1, {1}}, earlier{1, {2}}, fifth{5, {3}};
  EXPECT_EQ(learn_epoch(own, now, {}), 1u);
  const std::vector mine{make_claim(key, now)};
  EXPECT_EQ(learn_epoch(own, now, mine), 1u);  // what peers heard from this life
  const std::vector lost{make_claim(key, earlier), make_claim(key, fifth), make_claim(key, now)};
  EXPECT_EQ(learn_epoch(own, now, lost), 6u);
  EXPECT_EQ(learn_epoch(own, now, std::vector{make_claim(key, earlier)}), 2u);
  auto forged = make_claim(key, fifth);
  forged.boot.epoch = 500;
  auto foreign = make_claim(other, fifth);
  auto borrowed = foreign;
  borrowed.author = own;
  EXPECT_EQ(learn_epoch(own, now, std::vector{forged, foreign, borrowed}), 1u);
  EXPECT_EQ(learn_epoch(own, now, std::vector{make_claim(key, {kMaxEpoch, {}})}), 1u);
}

TEST(Epoch, AClaimComesBackFromItsBytes) {
  const auto claim = make_claim(test_key(1), {7, {9}});
  const auto bytes = encode(claim);
  EXPECT_EQ(bytes.size(), kEpochClaimBytes);
  EXPECT_EQ(decode_claim(bytes), claim);
  EXPECT_FALSE(decode_claim(bytes + "x"));
  EXPECT_FALSE(decode_claim(std::string_view(bytes).substr(1)));
}

}  // namespace
}  // namespace corral::mesh
