#include "engine/kv/parked_file.h"

#include <csignal>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "engine/kv/parked_test_support.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using test::parked;

class ParkedFileTest : public test::ParkFolderTest {
 protected:
  static constexpr std::string_view kFingerprint = "model|f16|0.5.0";

  fs::path written(const Parked& entry) {
    fs::path path = folder_ / parked_name(kFingerprint, entry.tokens);
    const auto result = write_parked(path, kFingerprint, entry);
    EXPECT_TRUE(result) << result.error().message;
    return path;
  }
};

TEST_F(ParkedFileTest, ReadsWhatWasWritten) {
  const Parked entry = parked({1, -2, 300000}, 12345);
  const fs::path path = written(entry);
  EXPECT_EQ(fs::file_size(path), parked_file_bytes(kFingerprint, entry));
  EXPECT_EQ(read_parked_tokens(path, kFingerprint).value(), entry.tokens);
  const auto read = read_parked(path, kFingerprint);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tokens, entry.tokens);
  EXPECT_EQ(read->bytes, entry.bytes);
  EXPECT_EQ(files().size(), 1u);  // nothing temporary stays
}

TEST_F(ParkedFileTest, IsForItsOwnerOnly) {
  struct stat status{};
  ASSERT_EQ(::stat(written(parked({1})).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ParkedFileTest, NamesDifferByFingerprintAndTokens) {
  const std::vector<Token> a = {1, 2}, b = {1, 3};
  EXPECT_NE(parked_name("x", a), parked_name("x", b));
  EXPECT_NE(parked_name("x", a), parked_name("y", a));
  EXPECT_THAT(parked_name("x", a), ::testing::StartsWith(parked_name_prefix("x")));
}

TEST_F(ParkedFileTest, AnyFlippedByteIsNoticed) {
  const Parked entry = parked({1, 2, 3}, 64);
  const fs::path path = written(entry);
  const std::uint64_t size = fs::file_size(path);
  for (std::uint64_t offset = 0; offset < size; ++offset) {
    flip(path, offset);
    const auto read = read_parked(path, kFingerprint);
    ASSERT_FALSE(read) << offset;
    EXPECT_EQ(read.error().code, errc::park_damaged);
    const bool in_head = offset < size - entry.bytes.size();
    EXPECT_EQ(read_parked_tokens(path, kFingerprint).has_value(), !in_head) << offset;
    flip(path, offset);
  }
  EXPECT_TRUE(read_parked(path, kFingerprint));
}

TEST_F(ParkedFileTest, AnyOtherLengthIsNoticed) {
  const fs::path path = written(parked({1, 2, 3}, 64));
  const std::uint64_t size = fs::file_size(path);
  fs::resize_file(path, size + 1);
  EXPECT_EQ(read_parked_tokens(path, kFingerprint).error().code, errc::park_damaged);
  for (std::uint64_t length = size; length-- > 0;) {
    fs::resize_file(path, length);
    ASSERT_FALSE(read_parked_tokens(path, kFingerprint)) << length;
    EXPECT_EQ(read_parked_tokens(path, kFingerprint).error().code, errc::park_damaged);
  }
}

TEST_F(ParkedFileTest, SizesWhoseSumRunsOverAreNoticed) {
  const fs::path path = written(parked({1, 2, 3}, 64));
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  // 4 bytes times the tokens and the payload: together 2^64 too many, which is none.
  const std::uint64_t sizes[] = {3 + (std::uint64_t{1} << 61), 64 + (std::uint64_t{1} << 63)};
  stream.seekp(16);
  stream.write(reinterpret_cast<const char*>(sizes), sizeof sizes);
  ASSERT_TRUE(stream.flush());
  EXPECT_EQ(read_parked(path, kFingerprint).error().code, errc::park_damaged);
}

TEST_F(ParkedFileTest, AnotherFingerprintIsRefused) {
  const fs::path path = written(parked({1, 2, 3}));
  EXPECT_EQ(read_parked(path, "another").error().code, errc::park_damaged);
}

TEST_F(ParkedFileTest, AMissingFileIsNotADamagedOne) {
  EXPECT_EQ(read_parked(folder_ / "none", kFingerprint).error().code, errc::park_failed);
}

TEST_F(ParkedFileTest, AFolderThatIsNoneIsAnError) {
  const fs::path path = written(parked({1}));
  EXPECT_EQ(write_parked(path / "below", kFingerprint, parked({2})).error().code, errc::park_failed);
}

TEST_F(ParkedFileTest, NothingIsLeftOfAFileThatFoundNoRoom) {
  // A limit on file sizes fails like a full disk, halfway through the payload.
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit{.rlim_cur = 4096, .rlim_max = old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto result = write_parked(folder_ / "x", kFingerprint, parked({1}, 100000));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_action);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, errc::park_failed);
  EXPECT_TRUE(files().empty());
}

TEST_F(ParkedFileTest, ListsParkedFilesOnlyAndClearsAwayForgottenOnes) {
  const fs::path path = written(parked({1}));
  const fs::path foreign = folder_ / parked_name("another", std::vector<Token>{1});
  std::ofstream(foreign) << "x";
  std::ofstream(folder_ / "notes.txt") << "mine";
  std::ofstream(folder_ / (path.filename().native() + ".forgot")) << "half";
  std::ofstream(folder_ / (path.filename().native() + ".atwork")) << "half";
  age(folder_ / (path.filename().native() + ".forgot"), hours(2));
  age(folder_ / "notes.txt", hours(2000));

  const auto listed = list_parked(folder_);
  ASSERT_TRUE(listed);
  std::vector<fs::path> paths;
  for (const ParkedFile& file : *listed) paths.push_back(file.path);
  EXPECT_THAT(paths, ::testing::UnorderedElementsAre(path, foreign));
  EXPECT_EQ(files().size(), 4u);
  EXPECT_FALSE(fs::exists(folder_ / (path.filename().native() + ".forgot")));
  EXPECT_TRUE(list_parked(folder_ / "none").value().empty());
}

}  // namespace
}  // namespace corral::engine
