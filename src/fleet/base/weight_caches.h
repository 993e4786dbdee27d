// Weights that hosts have sent to this node's workers, kept for the next load: one folder for each host below the state
// folder, which its worker alone may write to. A worker may be somebody else's program by now, so nothing in there is
// believed or followed, and it never takes more of the disk than this, in bytes or in files.
//
// The functions block on the disk. The class lives on one loop and has a thread do them.
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
  // Of all hosts together: one large model, or some of middling size. Weights are worth a minute of waiting, no more.
  std::uint64_t most = std::uint64_t{64} << 30;
  double most_of_room = 0.25;      // of what they have and what is free besides
  std::size_t max_files = 32'768;  // of all hosts together: a file is a tensor, a model some thousand
  std::uint64_t least_free = std::uint64_t{2} << 30;  // of the disk, whatever else: below that nothing is kept
};

struct WeightFolder {
  std::filesystem::path path;
  std::uint64_t most = 0;     // bytes that may be in it
  std::size_t max_files = 0;  // and files
};

// Makes the folder of a host that is about to send `bytes` of weights, and room for them: of others' folders what was
// used least recently goes first. None where the disk has no room for them. `free`: bytes of the disk.
std::optional<WeightFolder> make_room(const std::filesystem::path& root, const mesh::NodeId& host, std::uint64_t bytes,
                                      std::uint64_t free, const WeightRules& rules);
// Removes what was used least recently, and all that is no plain file, until the folder has no more than it may. Where
// there are far more files than that it isn't looked which: what is found last goes.
void trim(const WeightFolder& folder);
// Removes the folders of all who aren't named.
void keep_only(const std::filesystem::path& root, const std::set<mesh::NodeId>& hosts);
// Bytes that are free on its disk; 0: nobody knows.
std::uint64_t free_at(const std::filesystem::path& folder);

class WeightCaches {
 public:
  // Both must outlive it, and `disk` its work.
  WeightCaches(std::filesystem::path root, async::ThreadPool& disk, async::Timers& timers, WeightRules rules = {})
      : root_(std::move(root)), disk_(disk), timers_(timers), rules_(rules) {}

  // Who is cancelled doesn't wait for a disk that hangs.
  async::Task<std::optional<WeightFolder>> open(mesh::NodeId host, std::uint64_t bytes);
  // While a worker writes to it, now and then. False: the disk is nearly full all the same.
  async::Task<bool> look_after(WeightFolder folder);
  void members(std::vector<mesh::NodeId> all);

 private:
  const std::filesystem::path root_;
  async::ThreadPool& disk_;
  async::Timers& timers_;
  const WeightRules rules_;
};

}  // namespace corral::fleet
