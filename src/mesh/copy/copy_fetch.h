// The end of a copy that wants the files: from one node after another until all is there, verified, and named.
//
// Belongs to the mesh's loop; the disk is written on threads for files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/timer.h"
#include "mesh/copy/manifest.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

struct CopyProgress {
  std::uint64_t done = 0, total = 0;  // bytes
  double bytes_per_second = 0;        // lately
  NodeId from;                        // where they come from now
};

struct CopyOrder {
  Sha256 content{};
  std::filesystem::path folder;  // of this machine, where the files go
  // Where it can be had now, best first; asked again whenever a source has failed.
  std::function<std::vector<NodeId>()> sources;
  // A stream of purpose copy to that node.
  std::function<async::Task<Result<std::unique_ptr<Stream>>>(NodeId)> open;
  // Looks at the files before they get their names, and may refuse them.
  std::function<async::Task<Result<>>(std::vector<std::filesystem::path>)> inspect;
  std::function<void(const CopyProgress&)> on_progress = {};  // on the loop, twice a second at most
};

struct CopyRules {
  Millis answer{900'000};  // to the question for the list: the node may have to read its files; a node that is gone
                           // closes the stream
  Millis stall{15'000};    // nothing came for so long: another connection is tried
  Millis pause{500};       // after a failure, doubled up to `longest_pause`
  Millis longest_pause{30'000};
  int max_failures = 8;  // in a row, without a range in between; then it ends, and goes on when asked again
  int most_damaged = 3;  // ranges from one node that came damaged: that node is asked no more
};

// `files` has one thread, so that what is done to the same files is done in order.
//
// The files, as they are called now. What is there already isn't copied again, also after a kill. Cancelling keeps what
// there is. Errors: unreachable (no source for a while), not_offered (they refuse), damaged, disk_full, name_taken,
// what `inspect` says, timed_out, link_closed and the like after `max_failures`, the system's own.
async::Task<Result<std::vector<std::filesystem::path>>> fetch_copy(CopyOrder order, async::ThreadPool& files,
                                                                   async::Timers& timers,
                                                                   CopyRules rules = CopyRules());

}  // namespace corral::mesh
