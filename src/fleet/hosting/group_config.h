// What the creator of a node provides, so that this machine can be part of a group. Without it models aren't split
// here.
#pragma once

#include <functional>
#include <vector>

#include "async/offload.h"
#include "fleet/base/split_table.h"
#include "fleet/hosting/group_processes.h"

namespace corral::fleet {

struct GroupConfig {
  GroupProcesses* processes = nullptr;
  // Sets the receiver of reports; nullptr: none. Called on the mesh's loop.
  std::function<void(GroupReports*)> report_to;
  async::ThreadPool* disk = nullptr;  // one thread, for small files of the mesh's folder
  // Publishes the state of split models for requests after each change. Called on the mesh's loop.
  std::function<void(std::vector<SplitStatus>)> publish_splits;
};

}  // namespace corral::fleet
