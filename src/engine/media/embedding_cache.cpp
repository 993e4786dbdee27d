#include "engine/media/embedding_cache.h"

#include <utility>

namespace corral::engine {

MediaRows EmbeddingCache::find(const Sha256& id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.end(), entries_, found->second);
  return found->second->rows;
}

void EmbeddingCache::put(const Sha256& id, MediaRows rows) {
  if (find(id)) return;
  entries_.push_back({id, std::move(rows)});
  try {
    places_[id] = std::prev(entries_.end());
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  bytes_ += size_of(entries_.back().rows);
  while (bytes_ > max_bytes_ && entries_.size() > 1) {
    bytes_ -= size_of(entries_.front().rows);
    places_.erase(entries_.front().id);
    entries_.pop_front();
  }
}

}  // namespace corral::engine
