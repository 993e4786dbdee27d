#include "base/private_folder.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace corral {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PrivateFolder : public testing::Test {
 protected:
  PrivateFolder() {
    auto name = (fs::path(testing::TempDir()) / "corral-private-XXXXXX").native();
    root_ = ::mkdtemp(name.data());
  }
  ~PrivateFolder() override { fs::remove_all(root_); }
  static fs::perms mode(const fs::path& path) { return fs::status(path).permissions(); }
  static std::string refusal(const fs::path& path) {
    const auto done = ensure_private_folder(path);
    return done ? "taken" : done.error().message;
  }

  fs::path root_;
};

TEST_F(PrivateFolder, IsMadeForItsUserOnly) {
  const auto old = ::umask(0);
  EXPECT_EQ(refusal(root_ / "a/b"), "taken");
  ::umask(old);
  EXPECT_EQ(mode(root_ / "a/b"), fs::perms::owner_all);
  EXPECT_EQ(mode(root_ / "a"), fs::perms::owner_all);
  EXPECT_EQ(refusal(root_ / "a/b"), "taken");
}

TEST_F(PrivateFolder, OneIsClosedToOthersAndKeepsTheRest) {
  EXPECT_TRUE(close_to_others(root_ / "new"));
  EXPECT_EQ(mode(root_ / "new"), fs::perms::owner_all);
  fs::permissions(root_ / "new", fs::perms(0775));
  EXPECT_TRUE(close_to_others(root_ / "new"));
  EXPECT_EQ(mode(root_ / "new"), fs::perms(0755));
  std::ofstream(root_ / "file");
  EXPECT_FALSE(close_to_others(root_ / "file/below"));
}

TEST_F(PrivateFolder, OneThatOthersCanWriteIsRefused) {
  fs::create_directory(root_ / "open");
  for (const auto perms : {fs::perms(0777), fs::perms(0770), fs::perms(01777)}) {
    fs::permissions(root_ / "open", perms);
    EXPECT_THAT(refusal(root_ / "open"), HasSubstr("can be written by other users; run chmod 700"));
  }
  // What others may only read shows them nothing that they could use.
  fs::permissions(root_ / "open", fs::perms(0755));
  EXPECT_EQ(refusal(root_ / "open"), "taken");
}

TEST_F(PrivateFolder, OneThatOthersCanReplaceIsRefused) {
  fs::create_directory(root_ / "open");
  fs::create_directory(root_ / "open/mine");
  fs::permissions(root_ / "open/mine", fs::perms(0700));
  fs::permissions(root_ / "open", fs::perms(0777));
  EXPECT_THAT(refusal(root_ / "open/mine"), HasSubstr("where another user can replace it"));
  fs::create_directory_symlink(root_ / "open/mine", root_ / "link");
  EXPECT_THAT(refusal(root_ / "link"), HasSubstr("where another user can replace it"));
  fs::permissions(root_ / "open", fs::perms(01777));
  EXPECT_EQ(refusal(root_ / "open/mine"), "taken");
}

TEST_F(PrivateFolder, OneOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  fs::create_directory(root_ / "theirs");
  ASSERT_EQ(::chown((root_ / "theirs").c_str(), 12345, 12345), 0);
  EXPECT_THAT(refusal(root_ / "theirs"), HasSubstr("belongs to another user"));
  EXPECT_THAT(refusal(root_ / "theirs/mine"), HasSubstr("where another user can replace it"));
}

TEST_F(PrivateFolder, AFileIsNone) {
  EXPECT_THAT(refusal("/proc/self/status/x"), HasSubstr("can't be made"));
  EXPECT_THAT(refusal("/proc/none"), HasSubstr("can't be made"));
}

}  // namespace
}  // namespace corral
