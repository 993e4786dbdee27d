// Parks KV of a worker's sessions and finds it again: for all sessions, or, for sessions that don't share, for the
// session alone. Decides what is worth parking, and counts. One thread; all workers share the store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv/parked_store.h"
#include "engine/session/session.h"

namespace corral::engine {

class Parking {
 public:
  // nullptr: nothing is parked.
  explicit Parking(std::shared_ptr<ParkedStore> store) : store_(std::move(store)) {}

  // Fewer tokens are not parked.
  static constexpr std::uint32_t kLeast = 32;
  // A parked copy is restored whole and then cut. It must have at most this many tokens per token that the session can
  // use.
  static constexpr std::uint32_t kMaxWaste = 8;
  // Most files that are read for a session before it gets cells: an entry may be evicted again before its turn.
  static constexpr std::uint32_t kMaxReads = 2;

  bool takes(std::size_t tokens) const { return store_ != nullptr && tokens >= kLeast; }
  // The store already has an entry for these tokens.
  bool covers(std::span<const Token> tokens) const { return store_->covers(tokens); }
  // Requires takes(); does nothing if `bytes` is empty.
  void put(std::span<const Token> tokens, std::vector<std::uint8_t> bytes);
  // Parks the first `tokens` of a session's history for this session alone.
  void put_own(Session& session, std::uint32_t tokens, std::vector<std::uint8_t> bytes);

  struct Found {
    std::optional<ParkedStore::Hit> hit;
    bool coming = false;  // a file with it is being read
  };
  // A parked prefix of these tokens that is clearly longer than `least`. `may_read`: entries in files count too.
  Found find(Session& session, std::span<const Token> wanted, std::uint32_t least, bool may_read);
  // The session's own entry, without its last token.
  std::optional<ParkedStore::Hit> own(const Session& session);
  void forget_own(Session& session);
  // Removes an entry that could not be used.
  void erase(const ParkedStore::Hit& hit) { store_->erase(hit.id); }
  // Counts a restore.
  void put_back(const ParkedStore::Hit& hit);

  struct Counters {
    std::uint64_t parked = 0, restored = 0;
    std::uint64_t parked_bytes = 0, restored_bytes = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  void count(std::size_t bytes);

  const std::shared_ptr<ParkedStore> store_;
  Counters counters_;
};

}  // namespace corral::engine
