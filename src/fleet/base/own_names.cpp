#include "fleet/base/own_names.h"

namespace corral::fleet {

std::string own_name(const mesh::Catalog& catalog, const mesh::ContentKey& content, const mesh::NodeId& own) {
  for (const auto& model : catalog.models()) {
    if (model.content != content) continue;
    for (const auto& copy : model.copies)
      if (copy.node->id == own) return copy.model->name;
  }
  return {};
}

std::optional<mesh::ContentKey> own_content(const mesh::Catalog& catalog, std::string_view name,
                                            const mesh::NodeId& own) {
  for (const auto& model : catalog.models()) {
    for (const auto& copy : model.copies)
      if (copy.node->id == own && copy.model->name == name) return model.content;
  }
  return std::nullopt;
}

}  // namespace corral::fleet
