// The hub cache's own layout, which other tools read and write as well:
//
//   models--org--repo/blobs/HASH                      content, under the name that the hub gives it
//   models--org--repo/snapshots/COMMIT/path/x.gguf    links to ../../../blobs/HASH (relative)
//   models--org--repo/refs/main                       the commit that a branch or tag stands for
//   .locks/models--org--repo/HASH.lock                held (flock) by the process that fetches the blob, in every tool
//
// While a blob is being fetched, corral's own files beside it are HASH.corral-part and HASH.corral-part.json. Links are
// made last: every file with a name is complete. Blocking file access, on any thread; callers that remove something
// hold its locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::downloads {

// The folder of one repository. `repo`, revisions, paths and hashes were checked (names.h).
class RepoFolder {
 public:
  RepoFolder(std::filesystem::path cache, std::string_view repo);

  const std::filesystem::path& cache() const { return cache_; }
  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path blob(std::string_view oid) const { return root_ / "blobs" / oid; }
  std::filesystem::path part(std::string_view oid) const;
  std::filesystem::path progress(std::string_view oid) const;
  std::filesystem::path lock(std::string_view oid) const;
  std::filesystem::path snapshot(std::string_view commit) const { return root_ / "snapshots" / commit; }
  std::filesystem::path ref(std::string_view name) const { return root_ / "refs" / name; }

 private:
  std::filesystem::path cache_, root_;
  std::string name_;
};

// Whether the blob exists, with that size.
bool has_blob(const RepoFolder& folder, std::string_view oid, std::uint64_t size);

// Links `path` in the snapshot of `commit` to the blob, and replaces an existing link in one step. Errors: disk_full,
// disk_failed.
Result<> link_file(const RepoFolder& folder, std::string_view commit, std::string_view path, std::string_view oid);
// Errors: as above.
Result<> write_ref(const RepoFolder& folder, std::string_view name, std::string_view commit);
// The last known commit of a branch or tag; empty: never requested.
std::string read_ref(const RepoFolder& folder, std::string_view name);

// The blobs that snapshots refer to.
std::vector<std::string> blobs_in_use(const RepoFolder& folder);

struct Removed {
  std::uint64_t freed = 0;  // bytes
  std::vector<std::filesystem::path> files;
};

// Removes the names from all snapshots, then the blobs that no other name refers to, and empty folders. `models`: paths
// whose blobs go with all their names. Missing paths are ignored. Errors: disk_failed.
Result<Removed> remove_files(const RepoFolder& folder, std::span<const std::string> paths,
                             std::span<const std::string> models = {});

// Removes the partial files of a blob. Errors: disk_failed.
Result<Removed> remove_part(const RepoFolder& folder, std::string_view oid);

// The Error of a failed system call: disk_full for ENOSPC and EDQUOT, else disk_failed.
Error disk_error(int cause, std::string_view doing, const std::filesystem::path& path);

}  // namespace corral::downloads
