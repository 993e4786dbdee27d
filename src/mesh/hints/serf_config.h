// What a Serf agent is told at its start. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mesh/hints/peer_discovery.h"
#include "mesh/members/member_records.h"

namespace corral::mesh {

struct SerfSetup {
  NodeId node;
  Address bind;                  // where agents talk to each other, TCP and UDP
  std::uint16_t rpc_port = 0;    // on loopback, where we talk to it
  std::string rpc_secret;        // without it every command is refused
  MeshId mesh;                   // gives the key that agents of one mesh share; that key is no boundary
  std::filesystem::path memory;  // its snapshot: whom it knew
  std::vector<Address> engines;  // to try until one answers
};

// The text of its configuration file, which must be readable by this user alone.
std::string serf_config(const SerfSetup& setup);

}  // namespace corral::mesh
