// Assigns KV sequences to sessions: allocates ids, shares prefixes, parks cells that a session loses, restores them.
// One thread.
//
// A session that needs KV gets the longest prefix of its history that exists: in another sequence (shared, or taken
// over from an ended session), or parked. Cells that a session loses are parked. A session always keeps its tokens, so
// in the worst case it computes them again. A session that doesn't share gets only its own parked KV, and no other
// session finds that KV.
//
// Order of reclaim: cached prefixes of ended sessions, then sessions that don't run (idle, paused), least recently used
// first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "engine/cache/parking.h"
#include "engine/kv/adapter_index.h"
#include "engine/kv/cell_ledger.h"
#include "engine/kv/kv_memory.h"
#include "engine/schedule/context_shift.h"
#include "engine/session/session.h"
#include "engine/session/session_table.h"

namespace corral::engine {

class Sequences {
 public:
  // prefix_tokens: most tokens of ended sessions to keep in cells; 0: sessions share and keep nothing. `store` (shared
  // by the workers of a model) may be nullptr: then nothing is parked.
  Sequences(const SessionTable& sessions, std::shared_ptr<ParkedStore> store, std::uint32_t prefix_tokens);

  // Sets the memory, which is empty; nullptr: none. No session or prefix may hold a sequence of the previous memory.
  void bind(KvMemory* memory);
  // Sets the limit for tokens of ended sessions; has no effect if sharing is off.
  void limit_prefixes(std::uint32_t tokens) { max_prefix_tokens_ = sharing() ? std::max(tokens, 1u) : 0; }
  // After an interrupted change: forgets all sequences and the memory.
  void forget_all() noexcept;

  // The session ends: its cells are kept as a prefix or freed.
  void remove(Session& session);

  enum class Attach {
    done,      // the session has a sequence
    no_place,  // every id belongs to a running session
    no_cells,  // running sessions have them, or will soon
    later,     // another session is computing the same prefix: wait for it
    reading,   // a prefix is being read from a file: wait for it, if may_read
  };
  struct Terms {
    const CellClaims* claims = nullptr;  // of the running sessions; nullptr: the session is alone and needs no check
    std::uint32_t behind = 0;            // cells that it will need beyond its history
    bool may_read = true;
  };
  // Gives the session a sequence if it has none, with the longest prefix that exists, if there are cells for the rest.
  Attach attach(Session& session, const Terms& terms);

  // What happens to released cells.
  enum class Leave {
    nothing,  // they are freed
    claim,    // they are freed, but the session will compute its whole history again: others may wait for that
    copy,     // they are parked, if that is worth it
    prefix,   // they stay as a cached prefix if another session can use them; otherwise as `copy`
  };
  // A copy of the session's cells; empty: they can't be saved.
  std::vector<std::uint8_t> save(const Session& session) {
    return session.moved ? std::vector<std::uint8_t>() : memory_->save(session.sequence);
  }
  // Takes the sequence from the session.
  void give_up(Session& session, Leave leave);
  // Restores saved cells into a new sequence of a session that has none. False: not possible, the session still has
  // none.
  bool put_back(Session& session, std::uint32_t tokens, std::span<const std::uint8_t> bytes);
  // Parks saved cells of a session that has no sequence.
  void park_saved(Session& session, std::uint32_t tokens, std::vector<std::uint8_t> bytes);
  // Records that the cells hold `tokens` of the session's history, as libllama computed them.
  void computed(Session& session, std::uint32_t tokens) {
    session.moved = false;
    set_cached(session, tokens);
  }
  // Cuts the session's cells to at most `tokens`; to fewer if the memory can't cut there.
  void trim(Session& session, std::uint32_t tokens);
  // Removes tokens from the middle of the session's history and cells. Shared cells are copied first; if there are no
  // free cells for that, the session loses its cells and computes the rest again. From then on it shares with no other
  // session. False: the memory can't do it, and nothing has changed.
  bool shift(Session& session, const ContextCut& cut);
  // Frees cells behind the cached tokens: rejected draft tokens.
  void discard_behind(Session& session);
  // After an interrupted pass: reads from the memory how many tokens are cached.
  void resync(Session& session);
  // To be called before resync(): releases sequences that such a pass has emptied (kv_memory.h).
  void give_up_lost();
  // Whether a pass of this session alone may be aborted: no other sequence would lose cells.
  bool may_be_cut(const Session& alone) const;
  // The cached tokens of the session are final: later sessions may share all of them.
  void settle(Session& session);

  // Frees cells of sessions that don't run, except `spared`, until `cells` are free. False: there are not so many.
  bool free_up(std::uint32_t cells, const Session* spared = nullptr);
  const CellLedger& cells() const { return ledger_; }
  // Parks all sequences, also those of running sessions, and releases them.
  void park_all();
  // In a split layout, moves the running sessions to the lowest ids without gaps: each gap costs a pass of its own.
  void compact();

  // Sum over all sequences; shared cells count for each.
  std::uint32_t used_cells() const { return in_sessions_ + prefix_tokens_; }
  // Cells of sessions that do not run (idle, paused, waiting) and of prefixes: the attention of every running session
  // scans them.
  std::uint32_t idle_cells() const;
  std::size_t kept_prefixes() const { return prefixes_.size(); }

  const Parking::Counters& counters() const { return parking_.counters(); }

  // Shorter common prefixes are not worth a scan of the cells.
  static constexpr std::uint32_t kLeastShared = 8;
  // If another session is computing a prefix that is this much longer than the available one, waiting for it is worth
  // it.
  static constexpr std::uint32_t kWorthWaiting = 16;

 private:
  struct Prefix {
    std::uint64_t owner;  // id in the index
    std::int32_t sequence;
    std::vector<Token> tokens;
    AdapterScales adapters;  // of the computation
  };
  using PrefixList = std::list<Prefix>;

  struct Source {
    std::uint32_t length = 0;  // tokens that can be shared
    Session* session = nullptr;
    PrefixList::iterator prefix;
  };
  Source best_source(const Session& session, std::span<const Token> wanted, bool& being_computed);
  static bool worth_waiting(const Session& other, std::uint32_t beginning);
  bool take_id(Session& session);
  // Takes the sequence or cells of the first session or prefix that doesn't run, except `spared`. False if none is
  // left.
  enum class Want { id, cells };
  bool reclaim(Want want, const Session* spared = nullptr);
  std::vector<std::int32_t> of_running(const Session* spared = nullptr) const;
  void share(Session& session, const Source& source);
  bool adopt(Session& session, PrefixList::iterator prefix, std::uint32_t length);
  bool restore(Session& session, const ParkedStore::Hit& hit);
  bool keep(Session& session);
  void park(const Prefix& prefix);
  void park_for_all(std::int32_t sequence, std::span<const Token> tokens);
  void park(Session& session);
  void restore_own(Session& session);
  void evict(PrefixList::iterator prefix);
  void free_id(std::int32_t sequence);
  void set_cached(Session& session, std::uint32_t tokens);
  bool sharing() const { return max_prefix_tokens_ > 0; }
  bool own_all_cells(Session& session);
  bool shares(const Session& session) const { return session.share && !session.shifted && sharing(); }
  // Parked KV that all sessions share was computed with the adapter scales of the load.
  bool parks_for_all(const Session& session) const { return shares(session) && session.shared->adapters.empty(); }
  Parking::Found find_parked(Session& session, std::span<const Token> wanted, std::uint32_t least, bool may_read);

  const SessionTable& sessions_;
  Parking parking_;
  std::uint32_t max_prefix_tokens_;
  KvMemory* memory_ = nullptr;
  CellLedger ledger_;    // of memory_
  AdapterIndex index_;   // histories that are in cells or being computed
  PrefixList prefixes_;  // least recently used first
  std::uint32_t prefix_tokens_ = 0;
  std::uint64_t next_prefix_ = 0;
  std::vector<std::int32_t> free_ids_;  // smallest last
  std::uint32_t in_sessions_ = 0;       // sum of Session::in_cache
};

}  // namespace corral::engine
