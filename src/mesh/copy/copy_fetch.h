// The receiving end of a copy: fetches from one node after another until all files are complete, verified and named.
//
// Belongs to the mesh's loop; the disk is written on threads for files.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/timer.h"
#include "mesh/copy/manifest.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

struct CopyProgress {
  std::uint64_t done = 0, total = 0;  // bytes
  double bytes_per_second = 0;        // recent average
  std::optional<NodeId> from;         // the present source; none while no node sends
};

struct CopyOrder {
  Sha256 content{};
  std::filesystem::path folder;  // of this machine, where the files go
  // The present sources in any order; called again after each failure of a source.
  std::function<std::vector<NodeId>()> sources;
  // A stream of purpose copy to that node.
  std::function<async::Task<Result<std::unique_ptr<Stream>>>(NodeId)> open;
  // Checks the files before they get their names, and may reject them.
  std::function<async::Task<Result<>>(std::vector<std::filesystem::path>)> inspect;
  // On the loop, twice a second at most, and when a source begins or fails.
  std::function<void(const CopyProgress&)> on_progress = {};
};

struct CopyRules {
  Millis answer{900'000};  // for the list, because the node may have to read its files; a node that is gone closes the
                           // stream
  Millis stall{15'000};    // no bytes for so long: another connection is tried
  Millis pause{500};       // after a failure, doubled up to `longest_pause`
  Millis longest_pause{30'000};
  // Failures in a row, without a received range between them. Then the copy ends; a new order continues it.
  int max_failures = 8;
  int max_damaged = 3;  // damaged ranges from one node: then that node is no longer asked
};

// `files` has one thread, so that the work on the same files is done in order.
//
// Returns the paths of the files. Existing data isn't copied again, also after a kill. Cancelling keeps the data.
// Errors: unreachable (no source for a while), not_offered (the sources refuse), damaged, disk_full, name_taken, those
// of `inspect`, timed_out, link_closed and the like after `max_failures`, the system's own.
async::Task<Result<std::vector<std::filesystem::path>>> fetch_copy(CopyOrder order, async::ThreadPool& files,
                                                                   async::Timers& timers,
                                                                   CopyRules rules = CopyRules());

}  // namespace corral::mesh
