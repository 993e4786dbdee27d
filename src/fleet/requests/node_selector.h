// Interface of node selection for requests that this node doesn't serve itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "mesh/identity/keys.h"
#include "models/model_info.h"

namespace corral::fleet {

struct NodeQuery {
  const models::ModelInfo& model;
  std::uint64_t conversation = 0;                     // as of router::NodePreference
  const std::map<mesh::NodeId, std::string>& avoid;   // nodes to avoid, and why
  const std::map<mesh::NodeId, std::uint32_t>& busy;  // our requests at each node
};

struct SelectedNode {
  mesh::NodeId node;
  std::string node_name;      // for display
  std::string model;          // the model's name there
  std::string content;        // SHA-256 in hexadecimal digits; empty: not computed yet
  std::uint64_t context = 0;  // tokens that a conversation may have there; 0: unknown
  bool alone = false;         // no other node could serve it
};

// On the mesh's loop.
class NodeSelector {
 public:
  virtual ~NodeSelector() = default;
  // Selects a peer. Errors: nowhere, with what is short and retry_after; model_not_found (of models) if no node has the
  // model; ambiguous_model.
  virtual Result<SelectedNode> choose(const NodeQuery& query) = 0;
};

}  // namespace corral::fleet
