#include "models/scan/hub_cache.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace corral::models {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kRepoPrefix = "models--";

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The variable at the front of `text`, which begins with '$', and the rest; nothing if none has a name there.
struct Reference {
  std::string_view name, rest;
};
std::optional<Reference> reference_in(std::string_view text) {
  text.remove_prefix(1);
  if (text.starts_with('{')) {
    const auto close = text.find('}');
    if (close == text.npos) return std::nullopt;
    return Reference{text.substr(1, close - 1), text.substr(close + 1)};
  }
  const auto end = std::ranges::find_if_not(text, is_name_character) - text.begin();
  if (end == 0) return std::nullopt;
  return Reference{text.substr(0, static_cast<std::size_t>(end)), text.substr(static_cast<std::size_t>(end))};
}

// Values aren't expanded again.
std::string with_variables(std::string_view text, const HubEnvironment& environment) {
  std::string out;
  while (!text.empty()) {
    const auto reference = text.front() == '$' ? reference_in(text) : std::nullopt;
    const auto value = reference ? environment(reference->name) : std::string();
    if (value.empty()) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      out += value;
      text = reference->rest;
    }
  }
  return out;
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

fs::path expand_hub_path(const std::string& text, const HubEnvironment& environment) {
  std::string path = text;
  if (const auto home = environment("HOME"); !home.empty() && (path == "~" || path.starts_with("~/")))
    path.replace(0, 1, home);
  const fs::path expanded(with_variables(path, environment));
  std::error_code error;  // the working directory was removed
  auto absolute = fs::absolute(expanded, error);
  return error ? expanded : absolute;
}

fs::path hub_home_dir(const HubEnvironment& environment) {
  if (const auto home = environment("HF_HOME"); !home.empty()) return expand_hub_path(home, environment);
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return expand_hub_path(cache, environment) / "huggingface";
  if (const auto home = environment("HOME"); !home.empty())
    return expand_hub_path(home, environment) / ".cache" / "huggingface";
  return {};
}

fs::path hub_cache_dir(const HubEnvironment& environment) {
  for (const std::string_view name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const auto cache = environment(name); !cache.empty()) return expand_hub_path(cache, environment);
  const auto home = hub_home_dir(environment);
  return home.empty() ? home : home / "hub";
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
