// This node's names of models in the catalog. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mesh/catalog/catalog.h"

namespace corral::fleet {

// Empty: the model isn't on this node's disk.
std::string own_name(const mesh::Catalog& catalog, const mesh::ContentKey& content, const mesh::NodeId& own);
std::optional<mesh::ContentKey> own_content(const mesh::Catalog& catalog, std::string_view name,
                                            const mesh::NodeId& own);

}  // namespace corral::fleet
