#include "app/machine_facts.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "models/temp_dir_for_tests.h"

namespace corral::app {
namespace {

namespace fs = std::filesystem;

TEST(ExamineFolder, AFolderThatWorks) {
  const models::TempDir dir;
  const auto folder = examine_folder("state_dir", dir.path(), this_user(), true);
  EXPECT_EQ(folder.setting, "state_dir");
  EXPECT_EQ(folder.path, dir.path());
  EXPECT_EQ(folder.reason, "");
  EXPECT_GT(folder.free, 0u);
}

TEST(ExamineFolder, AMissingFolderIsAProblemOnlyIfTheServerDoesNotCreateIt) {
  const models::TempDir dir;
  EXPECT_EQ(examine_folder("state_dir", dir / "state", this_user(), true).reason, "");
  const auto folder = examine_folder("models_dir", dir / "models", this_user(), false);
  EXPECT_EQ(folder.reason, "'" + (dir / "models").native() + "' does not exist");
  EXPECT_EQ(folder.command, "mkdir -p " + (dir / "models").native());
}

TEST(ExamineFolder, AFolderOfAnotherUserCannotBeWritten) {
  const models::TempDir dir;
  fs::permissions(dir.path(), static_cast<fs::perms>(0755));
  FileUser other{.id = ::geteuid() + 1, .groups = {static_cast<gid_t>(::getegid() + 1)}, .name = "corral"};
  const auto steps = path_steps(dir.path().parent_path(), other);
  if (explain_access(steps, other, dir.path().parent_path())) GTEST_SKIP() << "the temporary folder is private";
  const auto folder = examine_folder("state_dir", dir.path(), other, true);
  EXPECT_EQ(folder.reason,
            "user 'corral' cannot write '" + dir.path().native() + "' (mode 0755, owner '" + this_user().name + "')");
  EXPECT_EQ(folder.command, "sudo chown corral " + dir.path().native());
}

}  // namespace
}  // namespace corral::app
