// What this node has on disk, as the registry knows it, for peers that ask for it.
#pragma once

#include "base/secret.h"
#include "fleet/door.h"
#include "models/content_hash.h"
#include "models/registry.h"

namespace corral::fleet {

class DiskShelf final : public Shelf {
 public:
  // Both must outlive it. `contents` nullptr: nothing is known of contents.
  DiskShelf(const models::Registry& registry, const models::ContentHashes* contents)
      : registry_(registry), contents_(contents) {}

  Result<models::Catalog::Model> find(std::string_view name) const override { return registry_.catalog()->find(name); }
  std::string content_of(const models::ModelInfo& model) const override {
    const auto content = contents_ == nullptr ? std::nullopt : contents_->find(model);
    return content ? to_hex(*content) : std::string();
  }

 private:
  const models::Registry& registry_;
  const models::ContentHashes* const contents_;
};

}  // namespace corral::fleet
