// What is kept by the keys of models follows them when they are hashed.
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

// What is there under the new key already stays.
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
