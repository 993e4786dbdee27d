// Maps the keys of models without a hash to their present keys. Groups, shares and orders keep the key that they were
// made with; the catalog lists a model by its hash as soon as one node knows it.
#pragma once

#include <map>
#include <optional>

#include "mesh/catalog/catalog.h"

namespace corral::mesh {

// For one catalog, which outlives it. Costs nothing until the first key without a hash.
class HashedSince {
 public:
  explicit HashedSince(const Catalog& catalog) : catalog_(catalog) {}

  // The catalog's key of the model; `key` itself if the catalog has no other one, or several.
  ContentKey operator()(const ContentKey& key);

 private:
  const Catalog& catalog_;
  std::optional<std::map<ContentKey, ContentKey>> names_;  // by the key without a hash
};

}  // namespace corral::mesh
