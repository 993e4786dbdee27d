#include "config/files/file_edit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/errors.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

TEST(FileEdit, a_new_setting_is_a_line_at_the_end) {
  EXPECT_EQ(with_setting("", "import_folders", "ollama").value_or("?"), "import_folders = \"ollama\"\n");
  EXPECT_EQ(with_setting("# mine\nport = 1 # why", "a", "x \"y\"").value_or("?"),
            "# mine\nport = 1 # why\na = \"x \\\"y\\\"\"\n");
}

TEST(FileEdit, the_value_alone_is_replaced) {
  EXPECT_EQ(with_setting("# ö\nimport_folders = \"ollama\"  # kept\nport = 1\n", "import_folders", "ollama lmstudio")
                .value_or("?"),
            "# ö\nimport_folders = \"ollama lmstudio\"  # kept\nport = 1\n");
  EXPECT_EQ(with_setting("a = [\n \"x\",\n \"y\"\n]\nb = 2\n", "a", "x y z").value_or("?"), "a = \"x y z\"\nb = 2\n");
}

TEST(FileEdit, a_text_without_a_safe_place_is_refused) {
  for (const auto* text : {"a = ", "import_folders = [\n# ö\n", "\"ö\" = 1\nimport_folders.x = 2\n"})
    EXPECT_FALSE(with_setting(text, "import_folders", "ollama")) << text;
}

// A line at the end would belong to the table.
TEST(FileEdit, a_new_setting_stands_in_front_of_a_table_at_the_end) {
  EXPECT_EQ(with_setting("# mine\n[request_defaults]\ntemperature = 0.5\n", "import_folders", "ollama").value_or("?"),
            "import_folders = \"ollama\"\n# mine\n[request_defaults]\ntemperature = 0.5\n");
  EXPECT_EQ(with_setting("\xEF\xBB\xBF[request_defaults]\nn = 1", "port", "1").value_or("?"),
            "\xEF\xBB\xBFport = \"1\"\n[request_defaults]\nn = 1");
}

TEST(FileEdit, the_text_of_an_array_is_that_of_its_items) {
  const fs::path file = fs::path(testing::TempDir()) / "corral-file-edit-array.toml";
  std::ofstream(file) << "import_folders = [\"ollama\", \"lmstudio=/x\"]\nport = [1]\n";
  EXPECT_EQ(setting_in(file, "import_folders").value(), "ollama,lmstudio=/x");
  EXPECT_FALSE(setting_in(file, "port"));
  EXPECT_EQ(setting_in(file, "host").value(), std::nullopt);
  fs::remove(file);
}

// The group could no longer read it.
TEST(FileEdit, a_file_keeps_its_group) {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  ::getgroups(static_cast<int>(groups.size()), groups.data());
  std::erase(groups, ::getegid());
  if (::geteuid() == 0) groups.push_back(12345);
  if (groups.empty()) GTEST_SKIP() << "this user has one group";
  const fs::path folder = fs::path(testing::TempDir()) / "corral-file-edit-group";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "config.toml") << "port = 1\n";
  ASSERT_EQ(::chown((folder / "config.toml").c_str(), static_cast<uid_t>(-1), groups.back()), 0);
  fs::permissions(folder / "config.toml", fs::perms(0640));
  ASSERT_TRUE(write_setting(folder / "config.toml", "import_folders", "ollama"));
  struct stat now{};
  ASSERT_EQ(::stat((folder / "config.toml").c_str(), &now), 0);
  EXPECT_EQ(now.st_gid, groups.back());
  EXPECT_EQ(now.st_mode & 07777, 0640u);
  EXPECT_EQ(now.st_size, 35);
  fs::remove_all(folder);
}

TEST(FileEdit, a_file_keeps_its_permissions_and_its_link) {
  const fs::path folder = fs::path(testing::TempDir()) / "corral-file-edit";
  fs::remove_all(folder);
  fs::create_directories(folder / "real");
  std::ofstream(folder / "real/config.toml") << "port = 1\n";
  fs::permissions(folder / "real/config.toml", fs::perms(0640));
  fs::create_symlink("real/config.toml", folder / "config.toml");
  ASSERT_TRUE(write_setting(folder / "config.toml", "import_folders", "ollama"));
  EXPECT_TRUE(fs::is_symlink(folder / "config.toml"));
  EXPECT_EQ(fs::status(folder / "real/config.toml").permissions(), fs::perms(0640));
  std::ifstream in(folder / "config.toml");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "port = 1\nimport_folders = \"ollama\"\n");
  ASSERT_TRUE(write_setting(folder / "new/config.toml", "import_folders", "ollama"));
  EXPECT_TRUE(fs::exists(folder / "new/config.toml"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace corral::config
