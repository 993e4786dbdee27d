// Lists of copies, and copies that aren't whole yet, without a network.
#include "mesh/copy/partial_model.h"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/secret.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"
#include "models/hash/content_hash.h"
#include "models/hash/digest.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

const GoOn kGoOn = [] { return true; };

void write_file(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Manifest small() {
  Manifest made{.content = {},
                .model = "m",
                .source = "",
                .files = {{"a.gguf", 3, models::digest_of("abc"), {models::digest_of("abc")}}},
                .has_projector = false};
  const std::vector<Sha256> parts = {made.files[0].hash};
  made.content = models::content_of(parts, std::nullopt);
  return made;
}

TEST(Manifest, ComesBack) {
  const auto key = test_key(1);
  const auto read = decode_manifest(encode(sign_manifest(key, small())));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->manifest, small());
  EXPECT_EQ(read->author, key.public_key());
}

TEST(Manifest, EveryChangedBitIsNoticed) {
  const auto good = encode(sign_manifest(test_key(1), small()));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = good;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_FALSE(decode_manifest(changed)) << at;
    }
    EXPECT_FALSE(decode_manifest(good.substr(0, at)));
  }
}

TEST(Manifest, NamesStayInTheirFolder) {
  for (const std::string name : {"", ".gguf", "../a.gguf", "/etc/a.gguf", "a/b.gguf", ".hidden.gguf", "a.txt",
                                 "a\n.gguf", "..", "a\\b.gguf", "a\xff.gguf"}) {
    auto manifest = small();
    manifest.files[0].name = name;
    EXPECT_FALSE(check(manifest)) << name;
  }
}

TEST(Manifest, SizesAndHashesMustFit) {
  auto manifest = small();
  manifest.files[0].bytes = 0;
  EXPECT_FALSE(check(manifest));
  manifest = small();
  manifest.files[0].bytes = kRangeBytes + 1;
  EXPECT_FALSE(check(manifest));
  manifest = small();
  manifest.files[0].hash[0] ^= 1;  // of another model
  EXPECT_FALSE(check(manifest));
  manifest = small();
  manifest.files[0].ranges[0][0] ^= 1;  // not those of the hash
  EXPECT_FALSE(check(manifest));
  manifest = small();
  manifest.files.push_back(manifest.files[0]);
  EXPECT_FALSE(check(manifest));
  manifest = small();
  manifest.has_projector = true;  // and nothing else
  EXPECT_FALSE(check(manifest));
}

TEST(Manifest, ItsNamesAreTextsForPeople) {
  for (const auto& name : {std::string("a\nb"), std::string("a\xff"), std::string(256, 'a')}) {
    auto manifest = small();
    manifest.model = name;
    EXPECT_FALSE(check(manifest)) << name;
    manifest = small();
    manifest.source = name;
    EXPECT_FALSE(check(manifest)) << name;
  }
}

TEST(PartialModel, WhatNobodyWantsAnyMoreEnds) {
  std::string name = testing::TempDir() + "unwanted-XXXXXX";
  const fs::path folder = ::mkdtemp(name.data());
  const auto list = sign_manifest(test_key(1), small());
  auto partial = PartialModel::open(folder, list, kGoOn);
  ASSERT_TRUE(partial);
  ASSERT_TRUE((*partial)->put({0, 0}, "abc"));
  const auto again = PartialModel::open(folder, list, [] { return false; });
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, errc::link_closed);
  for (const auto& entry : fs::directory_iterator(folder))
    EXPECT_TRUE(entry.path().filename().native().starts_with('.'));
  fs::remove_all(folder);
}

TEST(PartialModel, ADiskWithoutRoomIsNamedBeforeAnythingIsWritten) {
  auto manifest = small();
  auto& file = manifest.files[0];
  file.bytes = kMaxRanges * kRangeBytes;
  file.ranges.assign(kMaxRanges, models::digest_of("x"));
  const fs::path folder = fs::path(testing::TempDir()) / "no-room";
  const auto opened = PartialModel::open(folder, sign_manifest(test_key(1), manifest), kGoOn);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::disk_full);
  fs::remove_all(folder);
}

// An earlier run ended between the names of two files.
TEST(PartialModel, NamesThatWereGivenHalfwayAreGivenAgain) {
  std::string name = testing::TempDir() + "partial-XXXXXX";
  const fs::path folder = ::mkdtemp(name.data());
  auto manifest = small();
  const auto list = sign_manifest(test_key(1), manifest);
  {
    auto partial = PartialModel::open(folder, list, kGoOn);
    ASSERT_TRUE(partial);
    ASSERT_TRUE((*partial)->put({0, 0}, "abc"));
  }
  const auto goal = folder / fmt::format("a-{}", to_hex(manifest.content).substr(0, 8));
  fs::create_directories(goal);
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "list")) fs::create_hard_link(entry.path() / "a.gguf", goal / "a.gguf");
  auto again = PartialModel::open(folder, list, kGoOn);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE((*again)->missing().empty());
  const auto named = (*again)->finish();
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(read_file(goal / "a.gguf"), "abc");
  ASSERT_TRUE((*again)->settle());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  fs::remove_all(folder);
}

// The power went before all of it was on the disk: what is right stays, what isn't loses its name.
TEST(PartialModel, WhatWasNamedAndNotSettledIsLookedAt) {
  const auto list = sign_manifest(test_key(1), small());
  for (const bool damaged : {false, true}) {
    std::string name = testing::TempDir() + "settle-XXXXXX";
    const fs::path folder = ::mkdtemp(name.data());
    fs::path file;
    {
      auto partial = PartialModel::open(folder, list, kGoOn);
      ASSERT_TRUE(partial);
      ASSERT_TRUE((*partial)->put({0, 0}, "abc"));
      auto named = (*partial)->finish();
      ASSERT_TRUE(named);
      file = named->front();
    }
    if (damaged) write_file(file, "abd");
    EXPECT_EQ(PartialModel::left_over(folder, [] { return false; }).size(), 1u);
    EXPECT_TRUE(fs::exists(file));  // nobody has looked
    EXPECT_EQ(PartialModel::left_over(folder, kGoOn).size(), damaged ? 1u : 0u);
    EXPECT_EQ(fs::exists(file), !damaged);
    if (damaged) EXPECT_EQ((*PartialModel::open(folder, list, kGoOn))->missing().size(), 1u);
    fs::remove_all(folder);
  }
}

// Its author would have other bytes taken for the model.
TEST(PartialModel, RangesThatDontMakeTheWholeAreDamaged) {
  std::string name = testing::TempDir() + "chain-XXXXXX";
  const fs::path folder = ::mkdtemp(name.data());
  auto manifest = small();
  auto& file = manifest.files[0];
  const std::string first(kRangeBytes, 'a');
  models::FileDigest digest;
  digest.add(first + "tail");
  const auto hash = digest.finish();
  file.bytes = hash.bytes, file.hash = hash.hash;
  file.ranges = {models::digest_of("other"), hash.hash};
  const std::vector<Sha256> parts = {file.hash};
  manifest.content = models::content_of(parts, std::nullopt);
  auto partial = PartialModel::open(folder, sign_manifest(test_key(1), manifest), kGoOn);
  ASSERT_TRUE(partial);
  EXPECT_FALSE((*partial)->put({0, 0}, first));
  EXPECT_FALSE((*partial)->put({0, 1}, "tail"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace corral::mesh
