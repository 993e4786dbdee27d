// The configuration of a Serf agent. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mesh/hints/peer_discovery.h"
#include "mesh/members/member_records.h"

namespace corral::mesh {

struct SerfSetup {
  NodeId node;
  Address bind;                  // for other agents, TCP and UDP
  std::uint16_t rpc_port = 0;    // for our commands, on loopback
  std::string rpc_secret;        // every command needs it
  MeshId mesh;                   // gives the key that agents of one mesh share; that key is no security boundary
  std::filesystem::path memory;  // its snapshot: the nodes it knew
  std::vector<Address> engines;  // other agents, to try until one answers
};

// The text of its configuration file, which must be readable by this user alone.
std::string serf_config(const SerfSetup& setup);

}  // namespace corral::mesh
