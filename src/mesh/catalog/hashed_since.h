// What models are called by now that were told of while nobody had computed their hashes: groups, shares and orders
// keep the key that they were made with, and the catalog has the model under its hash as soon as one node knows that.
#pragma once

#include <map>
#include <optional>

#include "mesh/catalog/catalog.h"

namespace corral::mesh {

// For a look at one catalog, which outlives it. Costs nothing until it is asked for a key without a hash.
class HashedSince {
 public:
  explicit HashedSince(const Catalog& catalog) : catalog_(catalog) {}

  // The key by which the catalog knows the model; the same where it knows no other one, or more than one.
  ContentKey operator()(const ContentKey& key);

 private:
  const Catalog& catalog_;
  std::optional<std::map<ContentKey, ContentKey>> names_;  // by the key that it would have without its hash
};

}  // namespace corral::mesh
