#include "models/scan/hub_cache.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace corral::models {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kRepoPrefix = "models--";

fs::path expand(const std::string& text, const std::string& home) {
  if (text == "~") return home;
  if (text.starts_with("~/")) return fs::path(home) / text.substr(2);
  return text;
}

// The first line of a file, without blanks around it; at most a revision's length is of interest.
std::string first_word(const fs::path& path) {
  std::ifstream in(path);
  std::string word;
  in.width(256);
  in >> word;
  return word;
}

}  // namespace

fs::path hub_cache_dir(const HubEnvironment& environment) {
  const std::string& home = environment.home;
  if (!environment.hf_hub_cache.empty()) return expand(environment.hf_hub_cache, home);
  if (!environment.hf_home.empty()) return expand(environment.hf_home, home) / "hub";
  if (!environment.xdg_cache_home.empty()) return expand(environment.xdg_cache_home, home) / "huggingface" / "hub";
  if (!home.empty()) return fs::path(home) / ".cache" / "huggingface" / "hub";
  return {};
}

std::optional<std::string> hub_repo_of(std::string_view directory_name) {
  if (!directory_name.starts_with(kRepoPrefix)) return std::nullopt;
  std::string repo(directory_name.substr(kRepoPrefix.size()));
  // The hub puts "--" for the slash. Neither part may contain it otherwise; repositories without an owner are old ones.
  if (const auto at = repo.find("--"); at != std::string::npos) repo.replace(at, 2, "/");
  if (repo.starts_with(kAddressRepos)) {
    // A host may contain "--" (an international name), an ID can't.
    if (const auto at = repo.rfind("--"); at != std::string::npos) repo.replace(at, 2, "/");
    return repo;
  }
  if (!repo.starts_with(kOllamaRepos)) return repo.empty() ? std::nullopt : std::optional(std::move(repo));
  if (const auto at = repo.find("--", kOllamaRepos.size()); at != std::string::npos) repo.replace(at, 2, "/");
  return repo;
}

std::optional<std::string> address_host_of(std::string_view repo) {
  if (!repo.starts_with(kAddressRepos)) return std::nullopt;
  repo.remove_prefix(kAddressRepos.size());
  return std::string(repo.substr(0, repo.rfind('/')));
}

std::vector<fs::path> hub_snapshots(const fs::path& repo_dir) {
  struct Snapshot {
    fs::path path;
    bool current;
    fs::file_time_type time;
  };
  const std::string current = first_word(repo_dir / "refs" / "main");
  std::vector<Snapshot> snapshots;
  std::error_code error;
  for (fs::directory_iterator it(repo_dir / "snapshots", error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    snapshots.push_back({it->path(), it->path().filename() == current, it->last_write_time(ignored)});
  }
  std::ranges::sort(snapshots, [](const Snapshot& a, const Snapshot& b) {
    if (a.current != b.current) return a.current;
    if (a.time != b.time) return a.time > b.time;
    return a.path < b.path;
  });
  std::vector<fs::path> paths;
  paths.reserve(snapshots.size());
  for (Snapshot& snapshot : snapshots) paths.push_back(std::move(snapshot.path));
  return paths;
}

}  // namespace corral::models
