// A copy that isn't whole yet, on the disk: its list, its files at their full size, and which ranges are there.
// Survives a kill at any moment: what is there is hashed again when it is opened.
//
// Blocks on the disk: for threads of files. Not for several threads at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/unique_fd.h"
#include "mesh/copy/manifest.h"

namespace corral::mesh {

class PartialModel {
 public:
  // Where the files go in the end is `folder`; until then all is in a hidden folder of it, named after the content.
  // Takes up what an earlier run left. Reserves the disk. Errors: disk_full; name_taken, when one of the files is there
  // already; the system's own.
  static Result<std::unique_ptr<PartialModel>> open(const std::filesystem::path& folder, const SignedManifest& list);

  const Manifest& manifest() const { return manifest_; }
  // In the order of the files.
  std::vector<RangeId> missing() const;
  std::uint64_t bytes_there() const { return bytes_there_; }

  // Errors: damaged, and nothing is written; the system's own.
  Result<> put(RangeId range, std::string_view bytes);

  // All ranges are there: hashes the files as wholes, brings them to the disk and gives them their names, the first
  // part last, so that a model is seen when it is whole. `inspect` looks at the files (where they are, in their order)
  // before, and may refuse them. Errors: damaged, name_taken, what `inspect` says, the system's own.
  Result<std::vector<std::filesystem::path>> finish(
      const std::function<Result<>(const std::vector<std::filesystem::path>&)>& inspect);

  // Removes all of it.
  static void discard(const std::filesystem::path& folder, const Sha256& content);
  // The contents of the copies that were begun in this folder, with their lists; broken ones are left out.
  static std::vector<SignedManifest> left_over(const std::filesystem::path& folder);

 private:
  PartialModel(std::filesystem::path folder, Manifest manifest);
  Result<> reserve();
  Result<> take_up();
  std::filesystem::path part_of(std::size_t file) const;

  std::filesystem::path folder_, hidden_;
  Manifest manifest_;
  std::vector<UniqueFd> files_;
  std::set<RangeId> there_;
  std::uint64_t bytes_there_ = 0;
};

}  // namespace corral::mesh
