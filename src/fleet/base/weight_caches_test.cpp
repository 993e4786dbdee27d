#include "fleet/base/weight_caches.h"

#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/unique_fd.h"
#include "models/temp_dir_for_tests.h"

namespace corral::fleet {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kBlock = 64 << 10;  // whatever the size of the disk's own

mesh::NodeId node(std::uint8_t number) {
  mesh::NodeId id;
  id.bytes[0] = number;
  return id;
}

class WeightCachesTest : public testing::Test {
 protected:
  WeightCachesTest() { log::set_level(log::Level::none); }
  fs::path folder(std::uint8_t host) const { return root_ / to_text(node(host)); }
  // Written so long after the beginning.
  void put(std::uint8_t host, const std::string& name, std::uint64_t blocks, int seconds) {
    fs::create_directories(folder(host));
    const auto path = folder(host) / name;
    std::ofstream(path) << std::string(blocks * kBlock, 'x');
    const timespec time{.tv_sec = 1'700'000'000 + seconds, .tv_nsec = 0};
    const timespec both[] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, 0), 0);
  }
  std::vector<std::string> files(std::uint8_t host) const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder(host), none)) names.push_back(entry.path().filename());
    return names;
  }
  static WeightRules limited_to(std::uint64_t blocks) {
    return {.max_bytes = blocks * kBlock, .max_share_of_room = 1, .max_files = 100, .least_free = 0};
  }
  std::optional<WeightFolder> room(std::uint8_t host, std::uint64_t blocks, const WeightRules& rules,
                                   std::uint64_t free = 1000) {
    return make_room(root_, node(host), blocks * kBlock, free * kBlock, rules);
  }

  const models::TempDir dir_;
  const fs::path root_ = dir_ / "weights";
};

TEST_F(WeightCachesTest, AHostHasAFolderOfItsOwnThatOnlyThisUserReads) {
  const auto made = room(1, 4, limited_to(10));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->path, folder(1));
  EXPECT_EQ(made->max_bytes, 10 * kBlock);
  struct stat seen{};
  ASSERT_EQ(::stat(made->path.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0700u);
}

TEST_F(WeightCachesTest, OthersWeightsThatWereUsedLeastRecentlyMakeRoom) {
  put(2, "old", 3, 1);
  put(3, "newer", 3, 2);
  put(2, "newest", 3, 3);
  ASSERT_TRUE(room(1, 4, limited_to(10)));
  EXPECT_THAT(files(2), UnorderedElementsAre("newest"));
  EXPECT_THAT(files(3), UnorderedElementsAre("newer"));
}

TEST_F(WeightCachesTest, WhatTheHostHasMayBeJustWhatItSendsAgain) {
  put(1, "mine", 5, 1);
  put(2, "other", 4, 2);
  const auto made = room(1, 5, limited_to(10));
  ASSERT_TRUE(made);
  EXPECT_THAT(files(1), UnorderedElementsAre("mine"));
  EXPECT_THAT(files(2), UnorderedElementsAre("other"));
  EXPECT_EQ(made->max_bytes, 6 * kBlock);
}

TEST_F(WeightCachesTest, WhatFitsNowhereIsntKept) {
  put(2, "other", 4, 2);
  EXPECT_FALSE(room(1, 11, limited_to(10)));
  EXPECT_THAT(files(2), UnorderedElementsAre("other")) << "and nobody goes for it";
}

TEST_F(WeightCachesTest, ANearlyFullDiskKeepsNothing) {
  WeightRules rules = limited_to(1000);
  rules.max_share_of_room = 0.25;
  EXPECT_TRUE(room(1, 5, rules, 20));
  EXPECT_FALSE(room(1, 5, rules, 19));
  rules.least_free = ~0ull;
  EXPECT_FALSE(room(1, 1, rules));
}

TEST_F(WeightCachesTest, AFolderIsTrimmedToItsBound) {
  for (int i = 0; i < 6; ++i) put(1, std::to_string(i), 1, i);
  trim({folder(1), 2 * kBlock, 100});
  EXPECT_THAT(files(1), UnorderedElementsAre("4", "5"));
}

// They take a disk's inodes, and the time of whoever looks after them.
TEST_F(WeightCachesTest, EmptyFilesAreBoundedToo) {
  for (int i = 0; i < 6; ++i) put(1, std::to_string(i), 0, i);
  trim({folder(1), 10 * kBlock, 4});
  EXPECT_THAT(files(1), UnorderedElementsAre("2", "3", "4", "5"));
  for (int i = 0; i < 50; ++i) put(1, std::to_string(i), 0, i);
  trim({folder(1), 10 * kBlock, 4});
  EXPECT_EQ(files(1).size(), 4u);
}

TEST_F(WeightCachesTest, OthersFilesMakeRoomForHalfOfAllAtLeast) {
  auto rules = limited_to(100);
  rules.max_files = 6;
  for (int i = 0; i < 5; ++i) put(2, std::to_string(i), 0, i);
  const auto first = room(1, 1, rules);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->max_files, 3u);
  EXPECT_THAT(files(2), UnorderedElementsAre("2", "3", "4"));
  for (int i = 0; i < 5; ++i) put(1, std::to_string(i), 0, i);
  const auto again = room(1, 1, rules);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->max_files, 5u) << "what it has may be just what comes again";
  EXPECT_EQ(files(1).size(), 5u);
  EXPECT_THAT(files(2), UnorderedElementsAre("4"));
}

// Whoever writes there may be anybody.
TEST_F(WeightCachesTest, WhatIsNoPlainFileGoesAndNoLinkIsFollowed) {
  put(1, "weights", 1, 1);
  std::ofstream(dir_ / "mine") << "precious";
  fs::create_directories(folder(1) / "deep" / "deeper");
  fs::create_symlink(dir_ / "mine", folder(1) / "link");
  fs::create_directory_symlink(dir_.path(), folder(1) / "deep" / "out");
  trim({folder(1), 10 * kBlock, 100});
  EXPECT_THAT(files(1), UnorderedElementsAre("weights"));
  EXPECT_TRUE(fs::exists(dir_ / "mine"));
}

// Else each level costs a descriptor, and all of them the server's.
TEST_F(WeightCachesTest, FoldersInFoldersWithoutEndGoWithFewDescriptors) {
  put(1, "weights", 1, 1);
  UniqueFd at(::open(folder(1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 300; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
    ASSERT_EQ(::mkdirat(at.get(), "e", 0700), 0);
    at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{.rlim_cur = static_cast<rlim_t>(at.get()) + 20, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  trim({folder(1), 10 * kBlock, 100});
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(files(1), UnorderedElementsAre("weights"));
}

TEST_F(WeightCachesTest, WhoIsNoMemberAnyMoreHasNothingKept) {
  put(1, "a", 1, 1);
  put(2, "b", 1, 1);
  std::ofstream(root_ / "junk") << "x";
  keep_only(root_, {node(2)});
  EXPECT_FALSE(fs::exists(folder(1)));
  EXPECT_FALSE(fs::exists(root_ / "junk"));
  EXPECT_THAT(files(2), UnorderedElementsAre("b"));
}

TEST_F(WeightCachesTest, AFolderThatCantBeMadeIsNone) {
  std::ofstream(dir_ / "file") << "x";
  EXPECT_FALSE(make_room(dir_ / "file", node(1), 1, 1 << 20, limited_to(10)));
}

}  // namespace
}  // namespace corral::fleet
