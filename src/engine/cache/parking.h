// What a worker parks in host memory and finds there again: of sessions that share for everybody, of the others for
// themselves alone. Knows what is worth it, and counts. One thread; the store is that of all workers.
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

  // Fewer tokens aren't worth a copy.
  static constexpr std::uint32_t kLeast = 32;
  // A parked copy is put back whole and then cut: it must give at least one in so many of its tokens.
  static constexpr std::uint32_t kMaxWaste = 8;
  // Files that are read for a session until it gets cells: what was read may be gone again when its turn comes.
  static constexpr std::uint32_t kMaxReads = 2;

  bool takes(std::size_t tokens) const { return store_ != nullptr && tokens >= kLeast; }
  // It would be of use to nobody: there is one for these tokens.
  bool covers(std::span<const Token> tokens) const { return store_->covers(tokens); }
  // Of tokens that it takes; without bytes nothing happens.
  void put(std::span<const Token> tokens, std::vector<std::uint8_t> bytes);
  // The beginning of a session's history, for it alone.
  void put_own(Session& session, std::uint32_t tokens, std::vector<std::uint8_t> bytes);

  struct Found {
    std::optional<ParkedStore::Hit> hit;
    bool coming = false;  // from a file, which is being read
  };
  // What is parked of the beginning of these tokens, clearly longer than `least`. `may_read`: files count.
  Found find(Session& session, std::span<const Token> wanted, std::uint32_t least, bool may_read);
  // What is parked of the session alone, in front of its last token.
  std::optional<ParkedStore::Hit> own(const Session& session);
  void forget_own(Session& session);
  // It was of no use.
  void erase(const ParkedStore::Hit& hit) { store_->erase(hit.id); }
  // It is in cells again.
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
