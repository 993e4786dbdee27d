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

// Asked now and then by long work whether it is still wanted; what isn't ends with link_closed.
using GoOn = std::function<bool()>;

class PartialModel {
 public:
  // In the end the files are in a folder of their own below `folder`, so that two models whose files have one name (as
  // projectors do) don't meet; until then all is in a hidden folder beside it, named after the content. Takes up what
  // an earlier run left. Reserves the disk. Errors: disk_full; name_taken, when one of the files is there already; the
  // system's own.
  static Result<std::unique_ptr<PartialModel>> open(const std::filesystem::path& folder, const SignedManifest& list,
                                                    const GoOn& go_on);

  const Manifest& manifest() const { return manifest_; }
  // In the order of the files.
  std::vector<RangeId> missing() const;
  std::uint64_t bytes_there() const { return bytes_there_; }

  // Errors: damaged, and nothing is written; the system's own.
  Result<> put(RangeId range, std::string_view bytes);

  // Where the files are until they get their names, in their order.
  std::vector<std::filesystem::path> parts() const;
  // All ranges are there, and so the files are right as wholes: gives them their names, the first part last, so that a
  // model is seen when it is whole. Errors: name_taken, the system's own.
  Result<std::vector<std::filesystem::path>> finish();
  // And then brings all of it to the disk, and removes the hidden folder. Until that has ended a loss of power may have
  // cost bytes, and left_over() looks. Errors: the system's own; the hidden folder stays.
  Result<> settle();

  // Removes all of it.
  static void discard(const std::filesystem::path& folder, const Sha256& content);
  // The contents of the copies that were begun in this folder, with their lists; broken ones are left out. One that got
  // all its names, but wasn't settled, is hashed again: it is settled when it is right, and loses its names otherwise.
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
