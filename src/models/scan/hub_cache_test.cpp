#include "models/scan/hub_cache.h"

#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

class HubVariables : public testing::Test {
 protected:
  fs::path cache() const { return hub_cache_dir(environment_); }

  std::map<std::string, std::string, std::less<>> variables_;
  const HubEnvironment environment_ = [this](std::string_view name) {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::string() : found->second;
  };
};

TEST_F(HubVariables, SetTheDirectory) {
  EXPECT_EQ(cache(), fs::path());
  variables_["HOME"] = "/home/me";
  EXPECT_EQ(cache(), "/home/me/.cache/huggingface/hub");
  variables_["XDG_CACHE_HOME"] = "/xdg";
  EXPECT_EQ(cache(), "/xdg/huggingface/hub");
  variables_["HF_HOME"] = "/hf";
  EXPECT_EQ(cache(), "/hf/hub");
  variables_["HUGGINGFACE_HUB_CACHE"] = "/older";
  EXPECT_EQ(cache(), "/older");
  variables_["HF_HUB_CACHE"] = "/cache";
  EXPECT_EQ(cache(), "/cache");
}

// They were folders of that name, below the working directory.
TEST_F(HubVariables, AreExpandedAsTheHubsOwnToolsDo) {
  variables_ = {{"HOME", "/home/me"}, {"DATA", "/data"}, {"AGAIN", "$DATA"}};
  for (const auto& [text, path] :
       std::map<std::string, std::string>{{"~", "/home/me"},
                                          {"~/models", "/home/me/models"},
                                          {"$HOME/models", "/home/me/models"},
                                          {"${HOME}/models", "/home/me/models"},
                                          {"$DATA", "/data"},
                                          {"/x/$DATA.d/${DATA}s", "/x//data.d//datas"},
                                          {"/x/~/y", "/x/~/y"},
                                          {"/x/$NOTHING/${NOTHING}", "/x/$NOTHING/${NOTHING}"},
                                          {"/x/$AGAIN", "/x/$DATA"},
                                          {"/x/$/${", "/x/$/${"},
                                          {"/x/$DATA_/y", "/x/$DATA_/y"}}) {
    variables_["HF_HUB_CACHE"] = text;
    EXPECT_EQ(cache().native(), path) << text;
    EXPECT_EQ(expand_hub_path(text, environment_).native(), path) << text;
  }
  variables_.erase("HF_HUB_CACHE");
  variables_["XDG_CACHE_HOME"] = "$HOME/cache";
  EXPECT_EQ(cache(), "/home/me/cache/huggingface/hub");
  variables_["HF_HOME"] = "${DATA}/hf";
  EXPECT_EQ(cache(), "/data/hf/hub");
  variables_["HF_HOME"] = "relative/hf";
  EXPECT_EQ(cache(), fs::current_path() / "relative/hf/hub");
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
