// Histories in KV cells, by the adapter scales that they were computed with: sessions share KV of equal scales only.
// One thread.
#pragma once

#include <map>
#include <span>

#include "engine/kv/radix_index.h"
#include "engine/values/types.h"

namespace corral::engine {

class AdapterIndex {
 public:
  void set(const AdapterScales& adapters, RadixIndex::Owner owner, std::span<const Token> tokens) {
    by_set_[adapters].set(owner, tokens);
  }
  // An owner always has the same adapters.
  void erase(const AdapterScales& adapters, RadixIndex::Owner owner) {
    const auto found = by_set_.find(adapters);
    if (found == by_set_.end()) return;
    found->second.erase(owner);
    if (found->second.size() == 0) by_set_.erase(found);
  }
  void visit(const AdapterScales& adapters, std::span<const Token> wanted, std::uint32_t least,
             const RadixIndex::Visitor& visitor) const {
    if (const auto found = by_set_.find(adapters); found != by_set_.end()) found->second.visit(wanted, least, visitor);
  }
  void clear() noexcept { by_set_.clear(); }

 private:
  std::map<AdapterScales, RadixIndex> by_set_;
};

}  // namespace corral::engine
