// Hints by HashiCorp's Serf: an agent as a supervised child. When it ends it is started again, ever more rarely;
// without it there is nothing to hear, and nothing else changes. Its configuration, with the secret that commands need,
// is readable by this user alone; it listens for commands on loopback.
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
  Address bind;                  // where agents talk to each other
  std::filesystem::path folder;  // serf.json and serf.snapshot go there
  std::filesystem::path log_file = {};
  std::string program = "serf";
  Millis look{1'000};         // how often it is asked for what it knows, up to kFewMembers
  Millis first_pause{1'000};  // before it is started again, doubled each time
  Millis longest_pause{60'000};
  Millis start{10'000};  // from its start to an answer
};

// Asked more rarely in larger meshes: what it knows is sent as a whole.
inline constexpr std::size_t kFewMembers = 64;

// Starts the agent at once. stop(): the agent is asked to leave, then by SIGTERM, 3 s each, then killed. Destroying it
// kills the agent. What is referred to outlives it.
std::unique_ptr<PeerDiscovery> make_serf_hints(async::Executor executor, async::Timers& timers, proc::Spawner& spawner,
                                               SerfOptions options);

}  // namespace corral::mesh
