// Maps and sets with models' keys, updated when models get their hashes.
#pragma once

#include <set>
#include <vector>

#include "mesh/catalog/hashed_since.h"

namespace corral::fleet {

inline std::vector<mesh::ContentKey> keys_of(const auto& map) {
  std::vector<mesh::ContentKey> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// An existing entry of the new key stays.
void rename_keys(mesh::HashedSince& hashed, auto& map) {
  for (const auto& key : keys_of(map)) {
    const auto now = hashed(key);
    if (now == key) continue;
    auto node = map.extract(key);
    node.key() = now;
    map.insert(std::move(node));
  }
}
inline void rename_keys(mesh::HashedSince& hashed, std::set<mesh::ContentKey>& keys) {
  std::set<mesh::ContentKey> now;
  for (const auto& key : keys) now.insert(hashed(key));
  keys = std::move(now);
}

}  // namespace corral::fleet
