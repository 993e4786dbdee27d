// The settings of this node in a mesh. A plain value.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "mesh/catalog/node_state.h"
#include "mesh/identity/address.h"
#include "mesh/identity/keys.h"

namespace corral::fleet {

// A node with a configured address, which is dialled whatever else is known of the node.
struct StaticPeer {
  mesh::NodeId node;
  mesh::Address address;
  friend bool operator==(const StaticPeer&, const StaticPeer&) = default;
};

struct NodeOptions {
  std::filesystem::path folder;    // keys, members and tokens of this node; used by no other program
  std::filesystem::path identity;  // the key; empty: one in `folder`
  mesh::Address listen = {"0.0.0.0", 8100};
  std::vector<mesh::Address> advertise = {};  // empty: the machine's own addresses
  std::vector<StaticPeer> peers = {};
  std::vector<mesh::WantedModel> wants = {};  // models that the mesh is to have
  bool wants_of_start = false;                // `wants` is from a flag or the environment, so no file has it
  bool may_found = true;                      // only with `peers`; false if a token names the mesh to join
  std::uint16_t gossip_port = 0;              // port of the discovery agent; 0: none
  std::string name = {};                      // for people
  mesh::Role role = mesh::Role::member;
  bool role_is_open = false;  // mesh_role is "auto"
  bool joins = false;         // started with --join
  double lend_memory = 1;     // part of each memory pool, 0 to 1
  bool copies = true;
  bool auto_copy = false;  // the allocation may have models copied here
  bool admin = false;
  Millis idle_unload{30 * 60'000};     // of lent models
  std::string assigned_at_start = {};  // the model that this node was started for (--model with --join); empty: none
  std::string version = {};            // of this program
  std::string llama_version = {};

  // The allocation may have models copied here. Workers always allow this.
  bool takes_copies() const { return role == mesh::Role::worker || (auto_copy && role == mesh::Role::member); }
};

// These settings were checked when they were set, so invalid parts are skipped. Listen port 0 means any free port.
mesh::Address parse_listen(std::string_view text);
std::vector<mesh::Address> parse_addresses(std::string_view words);
std::vector<StaticPeer> parse_peers(std::string_view words);
// A name that means all models of this node.
inline constexpr std::string_view kEveryModel = "*";
// "org/repo:QUANT" is a model's name and its source.
std::vector<mesh::WantedModel> parse_wants(std::string_view words);
// "auto" means worker if the node was started to join and has no models, else member.
mesh::Role role_of(std::string_view configured, bool joins_without_models);
// The given name, or else the host's name.
std::string node_name(std::string_view configured);

}  // namespace corral::fleet
