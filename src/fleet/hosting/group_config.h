// What groups need of whoever makes the node, so that this machine can be a part of one. Without it models aren't split
// here.
#pragma once

#include <functional>
#include <vector>

#include "async/offload.h"
#include "fleet/base/split_book.h"
#include "fleet/hosting/group_processes.h"

namespace corral::fleet {

struct GroupConfig {
  GroupProcesses* hands = nullptr;
  // Who hears what came of it; nullptr: nobody any more. Called on the mesh's loop.
  std::function<void(GroupReports*)> report_to;
  async::ThreadPool* disk = nullptr;  // one thread, for small files of the mesh's folder
  // What requests are to know, whenever it is different. Called on the mesh's loop.
  std::function<void(std::vector<SplitNews>)> tell_requests;
};

}  // namespace corral::fleet
