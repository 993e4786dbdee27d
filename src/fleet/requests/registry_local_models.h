// The models on this node's disk for PeerRequestHandler: those of the last scan, and their content hashes.
#pragma once

#include <string>

#include "fleet/requests/peer_request_handler.h"
#include "models/hash/content_hash.h"
#include "models/registry.h"

namespace corral::fleet {

class RegistryLocalModels final : public LocalModels {
 public:
  // Both outlive it.
  RegistryLocalModels(const models::Registry& registry, const models::ContentHashes& hashes)
      : registry_(registry), hashes_(hashes) {}

  Result<models::Catalog::Model> find(std::string_view name) const override { return registry_.catalog()->find(name); }
  std::string content_of(const models::ModelInfo& model) const override;

 private:
  const models::Registry& registry_;
  const models::ContentHashes& hashes_;
};

}  // namespace corral::fleet
