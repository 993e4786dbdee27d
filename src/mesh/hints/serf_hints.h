// Hints by HashiCorp's Serf: an agent as a supervised child process. After its end it is started again, with growing
// pauses. Without it there are no hints, and nothing else changes. Its configuration, with the secret for commands, is
// readable by this user alone; it listens for commands on loopback.
//
// Belongs to one loop.
#pragma once

#include <filesystem>

#include "async/timer.h"
#include "mesh/hints/peer_discovery.h"
#include "mesh/members/member_records.h"
#include "proc/child.h"

namespace corral::mesh {

struct SerfOptions {
  NodeId node;
  MeshId mesh;
  Address bind;                  // for other agents
  std::filesystem::path folder;  // serf.json and serf.snapshot go there
  std::filesystem::path log_file = {};
  std::string program = "serf";
  Millis look{1'000};         // how often its members are read, up to kFewMembers
  Millis first_pause{1'000};  // before a restart, doubled each time
  Millis longest_pause{60'000};
  Millis start{10'000};  // from its start to an answer
};

// Members are read less often in larger meshes, because the agent always sends all of them.
inline constexpr std::size_t kFewMembers = 64;

// Starts the agent at once. stop() sends the agent a leave command, then SIGTERM, 3 s each, then kills it. The
// destructor kills the agent. The references outlive it.
std::unique_ptr<PeerDiscovery> make_serf_hints(async::Executor executor, async::Timers& timers, proc::Spawner& spawner,
                                               SerfOptions options);

}  // namespace corral::mesh
