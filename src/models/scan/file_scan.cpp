#include "models/scan/file_scan.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/path_access.h"
#include "base/text.h"
#include "models/errors.h"
#include "models/gguf/whisper_facts.h"
#include "models/scan/hub_cache.h"
#include "models/scan/ollama_folder.h"
#include "models/text.h"

namespace corral::models {
namespace fs = std::filesystem;
namespace {

std::optional<struct stat> stat_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

// Why the stat just before this failed.
errc cause_now() { return errno == ENOENT || errno == ENOTDIR ? errc::file_not_found : errc::unreadable; }
std::string reason_now() { return "cannot be read: " + std::generic_category().message(errno); }

// The same for a folder of the settings, with the folder above it that stops this user and the remedy.
std::string reason_for(const fs::path& folder) {
  const auto reason = reason_now();
  const auto problem = find_access_problem(folder, this_user());
  return problem ? "cannot be read: " + problem->text() : reason;
}

bool may_be_model(const fs::path& path) {
  return equal_ignoring_case(path.extension().native(), ".gguf") || may_be_whisper(path);
}

class Walk {
 public:
  explicit Walk(const RegistryOptions& options) : options_(options) {}

  void models_dir(const fs::path& root) {
    const auto status = stat_of(root);
    if (!status) {
      const auto cause = cause_now();
      problem(root, cause, reason_for(root));
    } else if (S_ISDIR(status->st_mode)) {
      directory({root, {}}, root, 0);
    } else if (may_be_model(root)) {
      file({root.parent_path(), {}}, root);
    } else {
      problem(root, errc::unreadable, "is neither a directory nor a .gguf or .bin file");
    }
  }

  void hub(const fs::path& cache) {
    if (cache.empty()) return;
    if (stat_of(cache)) return directory({cache, {}}, cache, 0);
    if (cause_now() == errc::unreadable) problem(cache, errc::unreadable, reason_for(cache));
  }

  void ollama(const fs::path& folder) {
    for (const OllamaModel& model : ollama_models(folder, options_.max_files)) {
      named_file(folder, model.weights, model.name);
      for (const fs::path& other : model.others) named_file(folder, other, model.name);
    }
  }

  FoundFiles take() { return std::move(found_); }

 private:
  struct Place {
    fs::path root;
    std::string repo;
  };

  struct Entry {
    fs::path path;
    bool link;
  };

  // `what` follows the path in the message.
  void problem(const fs::path& path, errc cause, std::string_view what) {
    Error error(make_error_code(cause), fmt::format("'{}' {}", printable_path(path), what));
    found_.problems.push_back({ModelName(printable(path.stem().native())), path, std::move(error)});
  }

  void directory(const Place& place, const fs::path& path, std::size_t depth) {
    const auto status = stat_of(path);
    if (!status || !entered_.emplace(status->st_dev, status->st_ino).second) return;
    if (depth > options_.max_depth) {
      problem(path, errc::limit_reached,
              fmt::format("is too deep in the folders (limit {} levels)", options_.max_depth));
      return;
    }
    std::vector<Entry> files;
    std::vector<Entry> directories;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      if (++looked_at_ > options_.max_files) {
        if (looked_at_ == options_.max_files + 1) {
          problem(path, errc::limit_reached,
                  fmt::format("was not scanned completely (limit {} entries in all)", options_.max_files));
        }
        break;
      }
      if (it->path().filename().native().starts_with('.')) continue;
      std::error_code ignored;
      const bool link = it->is_symlink(ignored);
      if (it->is_directory(ignored)) {
        directories.push_back({it->path(), link});
      } else if (may_be_model(it->path())) {
        files.push_back({it->path(), link});
      }
    }
    if (error) {
      const auto why = find_access_problem(path, this_user());
      problem(path, errc::unreadable, "cannot be read: " + (why ? why->text() : error.message()));
    }

    const auto order = [](const Entry& entry) { return std::pair(entry.link, entry.path); };
    std::ranges::sort(files, {}, order);
    std::ranges::sort(directories, {}, order);
    for (const Entry& entry : files) file(place, entry.path, entry.link);
    for (const Entry& entry : directories) {
      const auto repo = place.repo.empty() ? hub_repo_of(entry.path.filename().native()) : std::nullopt;
      if (repo) {
        hub_repo(*repo, entry.path, depth);
      } else {
        directory(place, entry.path, depth + 1);
      }
    }
  }

  // The files of the revision in use; of older revisions those that this one doesn't have (a download by revision).
  void hub_repo(const std::string& repo, const fs::path& path, std::size_t depth) {
    std::set<fs::path> have;
    for (const fs::path& snapshot : hub_snapshots(path)) {
      const std::size_t before = found_.files.size();
      directory({snapshot, repo}, snapshot, depth + 1);
      std::vector<FoundFile>& files = found_.files;
      std::set<fs::path> added;
      for (std::size_t i = before; i < files.size(); ++i) added.insert(files[i].relative);
      const auto known = [&](const FoundFile& found) { return have.contains(found.relative); };
      files.erase(std::remove_if(files.begin() + static_cast<std::ptrdiff_t>(before), files.end(), known), files.end());
      have.merge(added);
    }
  }

  void file(const Place& place, const fs::path& path, bool link = false) {
    const auto status = stat_of(path);
    if (!status) {
      problem(path, cause_now(), reason_now());
    } else if (!S_ISREG(status->st_mode)) {
      problem(path, errc::unreadable, "is not a regular file");
    } else {
      found_.files.push_back(
          {path, place.root, path.lexically_relative(place.root), place.repo, {}, stamp_of(*status), link});
    }
  }

  void named_file(const fs::path& root, const fs::path& path, const std::string& name) {
    const auto status = stat_of(path);
    if (status && S_ISREG(status->st_mode)) {
      found_.files.push_back({path, root, path.lexically_relative(root), {}, name, stamp_of(*status)});
    } else {
      problem(path, status ? errc::unreadable : cause_now(), status ? "is not a regular file" : reason_now());
      found_.problems.back().name = ModelName(name);
    }
  }

  const RegistryOptions& options_;
  FoundFiles found_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> entered_;  // directories by device and inode
  std::size_t looked_at_ = 0;
};

}  // namespace

FoundFiles find_files(const RegistryOptions& options) {
  Walk walk(options);
  for (const fs::path& dir : options.models_dirs) walk.models_dir(dir);
  walk.hub(options.hub_cache);
  for (const fs::path& dir : options.ollama_dirs) walk.ollama(dir);
  return walk.take();
}

}  // namespace corral::models
