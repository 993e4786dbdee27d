#include "models/scan/hub_cache.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

TEST(HubCache, DirectoryFollowsTheEnvironment) {
  HubEnvironment environment{"/cache", "/hf", "/xdg", "/home/me"};
  EXPECT_EQ(hub_cache_dir(environment), "/cache");
  environment.hf_hub_cache = "~/models";
  EXPECT_EQ(hub_cache_dir(environment), "/home/me/models");
  environment.hf_hub_cache.clear();
  EXPECT_EQ(hub_cache_dir(environment), "/hf/hub");
  environment.hf_home.clear();
  EXPECT_EQ(hub_cache_dir(environment), "/xdg/huggingface/hub");
  environment.xdg_cache_home.clear();
  EXPECT_EQ(hub_cache_dir(environment), "/home/me/.cache/huggingface/hub");
  EXPECT_EQ(hub_cache_dir({}), fs::path());
}

TEST(HubCache, RepositoriesByDirectoryName) {
  EXPECT_EQ(hub_repo_of("models--org--repo-1"), "org/repo-1");
  EXPECT_EQ(hub_repo_of("models--gpt2"), "gpt2");
  EXPECT_EQ(hub_repo_of("models--ollama.com--library--x-y"), "ollama.com/library/x-y");
  EXPECT_EQ(hub_repo_of("datasets--org--repo"), std::nullopt);
  EXPECT_EQ(hub_repo_of("models--"), std::nullopt);
}

TEST(HubCache, RepositoriesOfAddresses) {
  const auto repo = hub_repo_of("models--web.address--xn--a.example_8080--0123456789abcdef");
  EXPECT_EQ(repo, "web.address/xn--a.example_8080/0123456789abcdef");
  EXPECT_EQ(address_host_of(*repo), "xn--a.example_8080");
  for (const auto* other : {"gpt2", "example.com", "org/repo", "org/repo.v2", "ollama.com/library/x", "my_model", ""})
    EXPECT_EQ(address_host_of(other), std::nullopt) << other;
}

TEST(HubCache, SnapshotInUseGoesFirst) {
  const TempDir dir;
  for (const auto* revision : {"aaa", "bbb", "ccc"}) fs::create_directories(dir / "snapshots" / revision);
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(dir / "snapshots/aaa", now - std::chrono::hours(2));
  fs::last_write_time(dir / "snapshots/bbb", now - std::chrono::hours(3));
  fs::last_write_time(dir / "snapshots/ccc", now - std::chrono::hours(1));
  const auto names = [&] {
    std::vector<std::string> all;
    for (const fs::path& path : hub_snapshots(dir.path())) all.push_back(path.filename());
    return all;
  };
  EXPECT_THAT(names(), testing::ElementsAre("ccc", "aaa", "bbb"));
  fs::create_directories(dir / "refs");
  std::ofstream(dir / "refs/main") << "bbb\n";
  EXPECT_THAT(names(), testing::ElementsAre("bbb", "ccc", "aaa"));
  EXPECT_TRUE(hub_snapshots(dir / "absent").empty());
}

}  // namespace
}  // namespace corral::models
