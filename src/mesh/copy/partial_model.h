// An incomplete copy on disk: its list, its files at their full size, and which ranges are there. Survives a kill at
// any moment: open() hashes existing data again.
//
// Blocks on the disk: for threads for files. Not for several threads at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/unique_fd.h"
#include "mesh/copy/manifest.h"

namespace corral::mesh {

// Long work calls it now and then; false cancels the work, which ends with link_closed.
using GoOn = std::function<bool()>;

class PartialModel {
 public:
  // Finished files are in a folder of their own below `folder`, so that two models with equal file names (such as
  // projectors) don't collide. Until then all is in a hidden folder beside it, named after the content. Reuses the data
  // of an earlier run. Reserves disk space. Errors: disk_full; name_taken, if one of the files exists already; the
  // system's own.
  static Result<std::unique_ptr<PartialModel>> open(const std::filesystem::path& folder, const SignedManifest& list,
                                                    const GoOn& go_on);

  const Manifest& manifest() const { return manifest_; }
  // In the order of the files.
  std::vector<RangeId> missing() const;
  std::uint64_t bytes_there() const { return bytes_there_; }

  // Errors: damaged, and nothing is written; the system's own.
  Result<> put(RangeId range, std::string_view bytes);

  // The paths of the files until they get their names, in the order of the manifest.
  std::vector<std::filesystem::path> parts() const;
  // If all ranges are there: gives the files their names, the first part last, so that a model is visible only when it
  // is complete. Errors: name_taken, the system's own.
  Result<std::vector<std::filesystem::path>> finish();
  // After finish(): flushes all files to the disk, and removes the hidden folder. A loss of power before its end may
  // cost bytes, which left_over() checks. Errors: the system's own; the hidden folder stays.
  Result<> settle();

  // Removes the hidden folder.
  static void discard(const std::filesystem::path& folder, const Sha256& content);
  // The lists of the incomplete copies in this folder; damaged lists are left out. A copy with all its names that
  // wasn't settled is hashed again: if it is right it is settled, otherwise it loses its names.
  static std::vector<SignedManifest> left_over(const std::filesystem::path& folder, const GoOn& go_on);

 private:
  PartialModel(std::filesystem::path folder, Manifest manifest);
  Result<> reserve();
  bool is_named(std::size_t file) const;
  void take_names();
  bool settle_named(const GoOn& go_on);  // true: nothing is left to do
  Result<> take_up(const GoOn& go_on);
  Result<std::vector<std::filesystem::path>> give_names(const std::vector<std::filesystem::path>& parts);
  std::filesystem::path part_of(std::size_t file) const;

  std::filesystem::path folder_, hidden_, goal_;
  Manifest manifest_;
  std::vector<UniqueFd> files_;
  std::set<RangeId> there_;
  std::uint64_t bytes_there_ = 0;
};

}  // namespace corral::mesh
