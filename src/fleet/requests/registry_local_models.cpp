#include "fleet/requests/registry_local_models.h"

#include <fmt/format.h>

namespace corral::fleet {

std::string RegistryLocalModels::content_of(const models::ModelInfo& model) const {
  std::string text;
  if (const auto hash = hashes_.find(model))
    for (const auto byte : *hash) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

}  // namespace corral::fleet
