// What the settings say of this node in a mesh. A plain value.
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

// A node that is looked for at an address, whatever else is known of it.
struct StaticPeer {
  mesh::NodeId node;
  mesh::Address address;
  friend bool operator==(const StaticPeer&, const StaticPeer&) = default;
};

struct NodeOptions {
  std::filesystem::path folder;    // what makes it a member; its own alone
  std::filesystem::path identity;  // the key; empty: one in `folder`
  mesh::Address listen = {"0.0.0.0", 8100};
  std::vector<mesh::Address> advertise = {};  // empty: the machine's own addresses
  std::vector<StaticPeer> peers = {};
  std::vector<mesh::WantedModel> wants = {};  // models that the mesh is to have
  bool may_found = true;                      // with `peers` alone; not where a token says which mesh it is to be
  std::uint16_t gossip_port = 0;              // of the engine that spreads hints; 0: there is none
  std::string name = {};                      // for people
  mesh::Role role = mesh::Role::member;
  double lend_memory = 1;  // of each memory, 0 to 1
  bool copies = true;
  bool auto_copy = false;  // the allocation may have models copied here
  bool admin = false;
  Millis idle_unload{30 * 60'000};  // of what is lent
  std::string told_at_start = {};   // a model that this node was started for (--model with --join); empty: none
  std::string version = {};         // of this program
  std::string llama_version = {};

  // The allocation may have models copied here. A worker is there for that.
  bool takes_copies() const { return role == mesh::Role::worker || (auto_copy && role == mesh::Role::member); }
};

// Settings that were checked when they were set: what can't be read is left out. Port 0 to listen on is any free one.
mesh::Address parse_listen(std::string_view text);
std::vector<mesh::Address> parse_addresses(std::string_view words);
std::vector<StaticPeer> parse_peers(std::string_view words);
// A name that stands for all that this node has.
inline constexpr std::string_view kEveryModel = "*";
// "org/repo:QUANT" is a name and where it comes from.
std::vector<mesh::WantedModel> parse_wants(std::string_view words);
// "auto" is a worker where the node was started to join and has no models, else a member.
mesh::Role role_of(std::string_view said, bool joins_without_models);
// What was said, else the host's name.
std::string node_name(std::string_view said);

}  // namespace corral::fleet
