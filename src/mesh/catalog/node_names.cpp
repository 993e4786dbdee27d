#include "mesh/catalog/node_names.h"

#include <utility>

namespace corral::mesh {

void NodeNames::set(const NodeId& id, const std::string& own) {
  const auto before = std::exchange(own_[id], own);
  if (!before.empty()) --nodes_with_[before];
  if (!own.empty()) ++nodes_with_[own];
}

std::string NodeNames::own(const NodeId& id) const {
  const auto found = own_.find(id);
  return found == own_.end() ? std::string() : found->second;
}

std::string NodeNames::shown(const NodeId& id) const {
  const auto name = own(id);
  if (name.empty()) return short_text(id);
  return nodes_with_.at(name) == 1 ? name : name + "@" + short_text(id);
}

}  // namespace corral::mesh
