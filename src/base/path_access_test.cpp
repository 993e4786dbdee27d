#include "base/path_access.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

namespace corral {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

const FileUser kService{.id = 990, .groups = {980, 44}, .name = "corral"};

PathStep folder(const char* path, mode_t mode, uid_t owner = 0, gid_t group = 0) {
  PathStep step{.path = path, .mode = mode, .owner = owner, .group = group};
  step.owner_name = owner == 0 ? "root" : owner == kService.id ? "corral" : "jo";
  return step;
}

// As path_steps() does it for another user.
std::optional<AccessProblem> explain(std::vector<PathStep> steps, const FileUser& user = kService) {
  for (auto& step : steps) {
    const bool last = &step == &steps.back();
    step.allowed = mode_allows(step, user, !step.is_folder ? 4 : last ? 5 : 1);
  }
  return explain_access(steps, user, steps.back().path);
}

TEST(PathAccess, TheFirstFolderThatStopsTheUserIsNamedWithTheCommand) {
  const auto problem = explain(
      {folder("/home", 0755), folder("/home/jo", 0700, 1000, 1000), folder("/home/jo/models", 0700, 1000, 1000)});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->folder, "/home/jo");
  EXPECT_EQ(problem->text(),
            "user 'corral' cannot enter '/home/jo' (mode 0700, owner 'jo'): run sudo chmod o+x /home/jo");
}

TEST(PathAccess, TheFolderItselfMustBeReadable) {
  const auto problem = explain({folder("/srv", 0755), folder("/srv/my models", 0711, 1000, 1000)});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->text(),
            "user 'corral' cannot read '/srv/my models' (mode 0711, owner 'jo'): "
            "run sudo chmod o+rx '/srv/my models'");
}

TEST(PathAccess, TheClassThatAppliesIsChanged) {
  EXPECT_EQ(explain({folder("/a", 0705, 1000, 44)})->command, "sudo chmod g+rx /a");
  EXPECT_EQ(explain({folder("/a", 0077, kService.id, 44)})->command, "chmod u+rx /a");
  PathStep file = folder("/a/x.gguf", 0600, 1000, 1000);
  file.is_folder = false;
  EXPECT_EQ(explain({folder("/a", 0755), file})->command, "sudo chmod o+r /a/x.gguf");
}

TEST(PathAccess, NothingIsWrong) {
  EXPECT_FALSE(explain({folder("/home", 0755), folder("/home/jo", 0711, 1000), folder("/home/jo/models", 0755, 1000)}));
  EXPECT_FALSE(explain({folder("/root", 0700)}, FileUser{.id = 0, .groups = {0}, .name = "root"}));
}

TEST(PathAccess, ARefusalThatTheModeDoesNotExplain) {
  auto steps = std::vector{folder("/home", 0755), folder("/home/jo", 0755, 1000)};
  steps.front().allowed = false;
  EXPECT_EQ(explain_access(steps, kService, "/home/jo")->text(),
            "user 'corral' cannot enter '/home', although its mode 0755 allows it; an ACL, a mount or ProtectHome of "
            "the service forbids it: run getfacl /home and systemctl cat corral");
}

TEST(PathAccess, AMissingFolderAndOtherFailures) {
  auto steps = std::vector{folder("/srv", 0755), PathStep{.path = "/srv/a", .failed = ENOENT}};
  EXPECT_EQ(explain_access(steps, kService, "/srv/a/b")->text(), "'/srv/a' does not exist: run sudo mkdir -p /srv/a/b");
  steps.front().owner = kService.id;
  EXPECT_EQ(explain_access(steps, kService, "/srv/a/b")->command, "mkdir -p /srv/a/b");
  steps.back().failed = EACCES;
  EXPECT_EQ(explain_access(steps, kService, "/srv/a/b")->text(),
            "only user 'corral' or root can examine '/srv/a': run sudo namei -l /srv/a/b");
  steps.back().failed = ENOTDIR;
  EXPECT_EQ(explain_access(steps, kService, "/srv/a/b")->text(), "'/srv/a': Not a directory: run namei -l /srv/a/b");
}

class PathStepsTest : public testing::Test {
 protected:
  PathStepsTest() {
    fs::create_directories(dir_ / "real/inner");
    fs::permissions(dir_, static_cast<fs::perms>(0755));
  }
  ~PathStepsTest() override { fs::remove_all(dir_); }

  std::vector<std::string> names(const fs::path& path) const {
    std::vector<std::string> found;
    for (const auto& step : path_steps(path, this_user())) {
      const auto below = step.path.lexically_relative(dir_).native();
      if (!below.starts_with("..") && below != ".")
        found.push_back(below + (step.failed == ENOENT ? " (missing)" : ""));
    }
    return found;
  }
  const fs::path dir_ = fs::canonical(fs::temp_directory_path()) / ("corral-access-" + std::to_string(::getpid()));
};

TEST_F(PathStepsTest, FollowsLinksAndEndsAtWhatIsMissing) {
  fs::create_directory_symlink("real", dir_ / "link");
  fs::create_directory_symlink(dir_ / "link", dir_ / "again");
  EXPECT_THAT(names(dir_ / "link/inner"), ElementsAre("real", "real/inner"));
  EXPECT_THAT(names(dir_ / "again/../real/inner"), ElementsAre("real", "real", "real/inner"));
  EXPECT_THAT(names(dir_ / "real/none/deep"), ElementsAre("real", "real/none (missing)"));
  EXPECT_FALSE(find_access_problem(dir_ / "again/inner", this_user()));
}

TEST_F(PathStepsTest, LinksInACircleEnd) {
  fs::create_directory_symlink("b", dir_ / "a");
  fs::create_directory_symlink("a", dir_ / "b");
  const auto steps = path_steps(dir_ / "a/x", this_user());
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().failed, ELOOP);
}

TEST_F(PathStepsTest, AnEmptyPathHasNoSteps) {
  EXPECT_TRUE(path_steps("", this_user()).empty());
  EXPECT_FALSE(find_access_problem("", this_user()));
}

// Root may read everything, so the test takes the eyes of another user.
TEST_F(PathStepsTest, AFolderOfAnotherUserIsFound) {
  fs::permissions(dir_ / "real", fs::perms::owner_all);
  const FileUser other{.id = ::geteuid() + 1, .groups = {static_cast<gid_t>(::getegid() + 1)}, .name = "other"};
  auto steps = path_steps(dir_ / "real/inner", other);
  const auto is_above = [&](const PathStep& step) { return !step.path.native().starts_with(dir_.native()); };
  std::erase_if(steps, is_above);
  const auto problem = explain_access(steps, other, dir_ / "real/inner");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->folder, dir_ / "real");
  EXPECT_EQ(problem->command, "sudo chmod o+x " + (dir_ / "real").native());
}

}  // namespace
}  // namespace corral
