#include "fleet/base/weight_caches.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "async/run_or_leave.h"
#include "base/log.h"
#include "base/unique_fd.h"

namespace corral::fleet {
namespace {

namespace fs = std::filesystem;

// Of a folder with more than this multiple of its limit, only this much is read.
constexpr std::size_t kFarTooMany = 2;
constexpr std::size_t kMaxFolders = 1 << 16;  // of hosts; only this server makes them

struct Entry {
  fs::path path;
  std::uint64_t bytes = 0;  // on the disk
  std::int64_t used = 0;    // last write or access, as far as the disk records it
  bool plain = true;
};

// Limits for removing folders at places of plain files: descriptors at a time, and entries per check.
constexpr int kMaxLevels = 8;
constexpr int kMaxAtOnce = 100'000;

struct Removal {
  const int top;  // deeper entries are moved up to this folder first
  int left = kMaxAtOnce;
  std::vector<std::string> moved = {};
};

// Follows no link. False: something is left.
bool remove_within(Removal& all, int folder, const char* name, int levels) {
  if (--all.left < 0) return false;
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  if (::unlinkat(folder, name, AT_REMOVEDIR) == 0) return true;
  if (levels == 0) {
    // The name may exist already: from the worker, or from an interrupted removal.
    while (--all.left >= 0) {
      auto higher = fmt::format(".removed-{}", all.left);
      if (::renameat(folder, name, all.top, higher.c_str()) == 0) {
        all.moved.push_back(std::move(higher));
        return true;
      }
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return false;
    }
    return false;
  }
  UniqueFd fd(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> inside(fd ? ::fdopendir(fd.get()) : nullptr, ::closedir);
  if (!inside) return false;
  fd.release();
  while (const auto* entry = ::readdir(inside.get())) {
    const std::string_view found = entry->d_name;
    if (found == "." || found == "..") continue;
    if (!remove_within(all, ::dirfd(inside.get()), entry->d_name, levels - 1)) return false;
  }
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

bool remove_all_of(const fs::path& path) {
  const UniqueFd top(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return false;
  Removal all{.top = top.get()};
  all.moved.push_back(path.filename());
  while (!all.moved.empty()) {
    const auto name = std::move(all.moved.back());
    all.moved.pop_back();
    if (!remove_within(all, top.get(), name.c_str(), kMaxLevels)) return false;
  }
  return true;
}

// Returns at most `limit` entries; those found after that are removed.
std::vector<Entry> entries_of(const fs::path& folder, std::size_t limit) {
  std::vector<Entry> entries;
  std::error_code ended;
  for (fs::directory_iterator at(folder, ended), end; !ended && at != end; at.increment(ended)) {
    if (entries.size() >= limit) {
      remove_all_of(at->path());
      continue;
    }
    struct stat seen{};
    if (::lstat(at->path().c_str(), &seen) != 0) continue;
    entries.push_back({.path = at->path(),
                       .bytes = static_cast<std::uint64_t>(seen.st_blocks) * 512,
                       .used = std::max(seen.st_mtim.tv_sec, seen.st_atim.tv_sec),
                       .plain = S_ISREG(seen.st_mode)});
  }
  return entries;
}

std::uint64_t total(const std::vector<Entry>& entries) {
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) bytes += entry.bytes;
  return bytes;
}

struct Amount {
  std::uint64_t bytes = 0;
  std::size_t files = 0;
};
Amount amount_of(const std::vector<Entry>& entries) { return {total(entries), entries.size()}; }

// Removes the least recently used entries until at most `limit` is left. Returns the rest.
Amount shrink(std::vector<Entry> entries, Amount limit) {
  auto left = amount_of(entries);
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.plain, entry.used); });
  for (const auto& entry : entries) {
    if (left.bytes <= limit.bytes && left.files <= limit.files && entry.plain) break;
    if (!remove_all_of(entry.path)) continue;
    left.bytes -= entry.bytes;
    --left.files;
  }
  return left;
}

}  // namespace

std::uint64_t free_at(const fs::path& folder) {
  struct statvfs seen{};
  return ::statvfs(folder.c_str(), &seen) == 0 ? std::uint64_t{seen.f_bavail} * seen.f_frsize : 0;
}

std::optional<WeightFolder> make_room(const fs::path& root, const mesh::NodeId& host, std::uint64_t bytes,
                                      std::uint64_t free, const WeightRules& rules) {
  std::vector<Entry> others;
  Amount own;
  const fs::path folder = root / to_text(host);
  for (const auto& entry : entries_of(root, kMaxFolders)) {
    auto inside = entries_of(entry.path, kFarTooMany * rules.max_files);
    if (entry.path == folder) {
      own = amount_of(inside);
    } else {
      others.insert(others.end(), inside.begin(), inside.end());
    }
  }
  const double room = static_cast<double>(own.bytes + total(others)) + static_cast<double>(free);
  const auto limit = std::min(rules.max_bytes, static_cast<std::uint64_t>(room * rules.max_share_of_room));
  if (bytes > limit) return std::nullopt;
  // The host may send what it already has here; and the number of its files isn't known in advance.
  const auto files = std::clamp(own.files, rules.max_files / 2, rules.max_files);
  const auto of_others = shrink(std::move(others), {.bytes = limit - std::max(std::min(own.bytes, limit), bytes),
                                                    .files = rules.max_files - files});
  WeightFolder made{.path = folder,
                    .max_bytes = limit - std::min(of_others.bytes, limit),
                    .max_files = rules.max_files - std::min(of_others.files, rules.max_files)};
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed) fs::permissions(folder, fs::perms::owner_all, failed);
  if (failed) {
    log::warning("mesh", "can't cache weights of other nodes in {}: {}", folder.native(), failed.message());
    return std::nullopt;
  }
  trim(made);
  if (free_at(folder) < rules.least_free) return std::nullopt;
  return made;
}

void trim(const WeightFolder& folder) {
  shrink(entries_of(folder.path, kFarTooMany * folder.max_files), {folder.max_bytes, folder.max_files});
}

void keep_only(const fs::path& root, const std::set<mesh::NodeId>& hosts) {
  for (const auto& entry : entries_of(root, kMaxFolders)) {
    const auto host = mesh::parse_node_id(entry.path.filename().native());
    if (host && hosts.contains(*host)) continue;
    remove_all_of(entry.path);
  }
}

async::Task<std::optional<WeightFolder>> WeightCaches::open(mesh::NodeId host, std::uint64_t bytes) {
  auto work = [root = root_, host, bytes, rules = rules_] {
    std::error_code ignored;
    fs::create_directories(root, ignored);
    return make_room(root, host, bytes, free_at(root), rules);
  };
  co_return co_await async::run_or_leave(disk_, timers_, std::move(work));
}

async::Task<bool> WeightCaches::look_after(WeightFolder folder) {
  auto work = [folder = std::move(folder), least = rules_.least_free / 2] {
    trim(folder);
    return free_at(folder.path) >= least;
  };
  co_return co_await async::run_or_leave(disk_, timers_, std::move(work));
}

void WeightCaches::members(std::vector<mesh::NodeId> all) {
  disk_.post([root = root_, hosts = std::set<mesh::NodeId>(all.begin(), all.end())] { keep_only(root, hosts); });
}

}  // namespace corral::fleet
