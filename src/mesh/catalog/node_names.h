// Names of nodes in texts and tables for people. A node names itself, as a rule by its host name, so two nodes may have
// one name; texts must distinguish them. Plain values; safe on every thread.
#pragma once

#include <map>
#include <string>

#include "mesh/identity/keys.h"

namespace corral::mesh {

class NodeNames {
 public:
  // `own`: the name that the node gave itself; empty: it hasn't announced any. A later call for the same node counts.
  void set(const NodeId& id, const std::string& own);

  // The node's own name. With "@" and the first digits of its id if another node has the same name, and these digits
  // alone if the node has no name or isn't known.
  std::string shown(const NodeId& id) const;
  // Its own name, which other nodes may have, too; empty: none.
  std::string own(const NodeId& id) const;

 private:
  std::map<NodeId, std::string> own_;
  std::map<std::string, std::size_t> nodes_with_;
};

}  // namespace corral::mesh
