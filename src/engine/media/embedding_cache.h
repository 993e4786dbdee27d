// Embeddings of pictures and sounds by their hash, bounded in bytes; the least recently used leave first. The newest
// stays whatever its size, so that the session that waits for it gets it. Pure, one thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>

#include "base/sha256.h"
#include "engine/kv/media_span.h"

namespace corral::engine {

class EmbeddingCache {
 public:
  explicit EmbeddingCache(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // nullptr: it isn't there. Counts as a use.
  MediaRows find(const Sha256& id);
  void put(const Sha256& id, MediaRows rows);

  std::uint64_t bytes() const { return bytes_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Sha256 id;
    MediaRows rows;
  };
  static std::uint64_t size_of(const MediaRows& rows) { return rows->size() * sizeof(float); }

  const std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;
  std::list<Entry> entries_;  // least recently used first
  std::map<Sha256, std::list<Entry>::iterator> places_;
};

}  // namespace corral::engine
