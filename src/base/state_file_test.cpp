#include "base/state_file.h"

#include <fstream>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace {

using Inode = std::pair<dev_t, ino_t>;
std::set<Inode> synced;

}  // namespace

// In place of the C library's, for the whole test program: the same, and it is written down.
extern "C" int fsync(int descriptor) {
  struct stat facts{};
  if (::fstat(descriptor, &facts) == 0) synced.insert({facts.st_dev, facts.st_ino});
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace corral {
namespace {

namespace fs = std::filesystem;

class StateFile : public testing::Test {
 protected:
  StateFile() {
    auto name = (fs::path(testing::TempDir()) / "corral-state-XXXXXX").native();
    root_ = ::mkdtemp(name.data());
    synced.clear();
  }
  ~StateFile() override { fs::remove_all(root_); }
  static bool was_synced(const fs::path& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 && synced.contains({facts.st_dev, facts.st_ino});
  }

  fs::path root_;
};

TEST_F(StateFile, IsReplacedAsAWhole) {
  const auto path = root_ / "a" / "state.json";
  EXPECT_EQ(read_state_file(path).value(), std::nullopt);
  ASSERT_TRUE(write_state_file(path, "old"));
  ASSERT_TRUE(write_state_file(path, "new"));
  EXPECT_EQ(read_state_file(path).value(), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);
}

TEST_F(StateFile, IsReadUpToALimit) {
  const auto path = root_ / "state.json";
  const std::string text(100'000, 'x');  // more than is read at once
  ASSERT_TRUE(write_state_file(path, text + "yz"));
  EXPECT_EQ(read_state_file(path).value(), text + "yz");
  EXPECT_EQ(read_state_file(path, text.size() + 1).value(), text + "y");
  EXPECT_EQ(read_state_file(path, text.size() + 3).value(), text + "yz");
  EXPECT_FALSE(read_state_file(root_)) << "a folder has no text";
}

TEST_F(StateFile, TheNamesOfAFolderAreSyncedOrItSaysWhyNot) {
  EXPECT_FALSE(sync_folder(root_));
  EXPECT_TRUE(was_synced(root_));
  EXPECT_EQ(sync_folder(root_ / "missing"), std::errc::no_such_file_or_directory);
}

// A new folder's name stands in the one above: a file in it was lost with it.
TEST_F(StateFile, WhatSurvivesAPowerLossIsOnTheDiskWithItsFolders) {
  const auto path = root_ / "a" / "b" / "state.json";
  ASSERT_TRUE(write_state_file(path, "text", Durability::power_loss));
  for (const auto& one : {path, path.parent_path(), root_ / "a", root_}) EXPECT_TRUE(was_synced(one)) << one;
}

// Somebody else made them and didn't wait.
TEST_F(StateFile, FoldersThatAreThereAlreadyMayBeAsNew) {
  ASSERT_TRUE(write_state_file(root_ / "a" / "b" / "other.json", "text"));
  EXPECT_TRUE(synced.empty()) << "a crash costs no waiting";
  ASSERT_TRUE(write_state_file(root_ / "a" / "b" / "state.json", "text", Durability::power_loss));
  EXPECT_TRUE(was_synced(root_ / "a"));
  EXPECT_TRUE(was_synced(root_));
}

TEST_F(StateFile, APathThatIsRelativeHasFoldersAboveToo) {
  const auto before = fs::current_path();
  fs::create_directory(root_ / "a");
  fs::current_path(root_ / "a");
  const auto alone = write_state_file("state.json", "text", Durability::power_loss);
  fs::current_path(before);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_TRUE(was_synced(root_ / "a"));
  EXPECT_TRUE(was_synced(root_));
}

TEST_F(StateFile, WhatNobodyCanReadIsPutAside) {
  const auto path = root_ / "state.json";
  for (const std::string name : {"state.json.broken", "state.json.broken-2"}) {
    ASSERT_TRUE(write_state_file(path, name));
    EXPECT_EQ(set_aside(path), root_ / name);
    EXPECT_EQ(read_state_file(root_ / name).value(), name);
  }
  EXPECT_EQ(set_aside(root_ / "missing"), fs::path());
}

}  // namespace
}  // namespace corral
