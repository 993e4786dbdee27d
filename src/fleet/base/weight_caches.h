// Caches of weights that hosts have sent to this node's workers, for the next load. Each host has one folder below the
// state folder, which only its worker may write to. A worker may be a hostile program by then. So files there are not
// trusted, links are not followed, and bytes and number of files have limits.
//
// The functions block on the disk. The class lives on one loop and runs them on a thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "async/offload.h"
#include "async/task.h"
#include "async/timer.h"
#include "mesh/identity/keys.h"

namespace corral::fleet {

struct WeightRules {
  // For all hosts together: one large model, or some of middle size. A cached load saves about a minute, no more.
  std::uint64_t max_bytes = std::uint64_t{64} << 30;
  double max_share_of_room = 0.25;  // of their size plus the free disk
  std::size_t max_files = 32'768;   // for all hosts together: a file is a tensor, a model has about a thousand
  std::uint64_t least_free = std::uint64_t{2}
                             << 30;  // free bytes that the disk must keep; below that, nothing is cached
};

struct WeightFolder {
  std::filesystem::path path;
  std::uint64_t max_bytes = 0;  // limit of bytes
  std::size_t max_files = 0;    // limit of files
};

// Makes the folder of a host that will send `bytes` of weights, and removes the least recently used files of other
// hosts as far as needed. None: the disk has too little space. `free`: bytes of the disk.
std::optional<WeightFolder> make_room(const std::filesystem::path& root, const mesh::NodeId& host, std::uint64_t bytes,
                                      std::uint64_t free, const WeightRules& rules);
// Removes everything that is no plain file, and the least recently used files until the folder is within its limits.
// With far too many files, those found last are removed instead.
void trim(const WeightFolder& folder);
// Removes the folders of all hosts that aren't in `hosts`.
void keep_only(const std::filesystem::path& root, const std::set<mesh::NodeId>& hosts);
// Free bytes of the folder's disk; 0: unknown.
std::uint64_t free_at(const std::filesystem::path& folder);

class WeightCaches {
 public:
  // Both must outlive it, and `disk` its work.
  WeightCaches(std::filesystem::path root, async::ThreadPool& disk, async::Timers& timers, WeightRules rules = {})
      : root_(std::move(root)), disk_(disk), timers_(timers), rules_(rules) {}

  // A cancelled caller doesn't wait for a disk that hangs.
  async::Task<std::optional<WeightFolder>> open(mesh::NodeId host, std::uint64_t bytes);
  // Called from time to time while a worker writes. False: the disk is nearly full in spite of trimming.
  async::Task<bool> look_after(WeightFolder folder);
  void members(std::vector<mesh::NodeId> all);

 private:
  const std::filesystem::path root_;
  async::ThreadPool& disk_;
  async::Timers& timers_;
  const WeightRules rules_;
};

}  // namespace corral::fleet
