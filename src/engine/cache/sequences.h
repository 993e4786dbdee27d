// Who holds which KV sequence: hands out ids, shares prefixes, parks what is taken away, restores it. One thread.
//
// A session that needs KV gets the longest beginning of its history that exists already: in another sequence (shared,
// or taken over from an ended session), or parked in host memory. What loses its cells is parked; a session always
// keeps its tokens, so at the worst they are computed again. A session that doesn't share gets only what was parked of
// itself, and nobody else finds that.
//
// Order of taking back: kept prefixes of ended sessions, then sessions that don't run (idle, paused), least recently
// used first.
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
  // prefix_tokens: most tokens of ended sessions to keep in cells; 0: nothing is shared or kept.
  // `store` (shared by the workers of a model) may be nullptr: then nothing is parked.
  Sequences(const SessionTable& sessions, std::shared_ptr<ParkedStore> store, std::uint32_t prefix_tokens);

  // The memory to use from now on, empty; nullptr: none. Nothing may hold a sequence of the one before.
  void bind(KvMemory* memory);
  // Most tokens of ended sessions from now on; nothing changes where nothing was to be shared from the beginning.
  void limit_prefixes(std::uint32_t tokens) { max_prefix_tokens_ = sharing() ? std::max(tokens, 1u) : 0; }
  // Something was left halfway: no sequence and no memory from now on, whatever there was.
  void forget_all() noexcept;

  // The session ends: its cells are kept as a prefix or freed.
  void remove(Session& session);

  enum class Attach {
    done,      // the session has a sequence
    no_place,  // every id belongs to a running session
    no_cells,  // those that run have them, or will soon
    later,     // another session is computing the same beginning right now: wait for it
    reading,   // a beginning of it is being read from a file: wait for that, if may_read
  };
  struct Terms {
    const CellClaims* claims = nullptr;  // of those that run; nullptr: it is alone and needn't ask for cells
    std::uint32_t behind = 0;            // cells that it will take behind its history
    bool may_read = true;
  };
  // Gives the session a sequence if it has none, with as many of its tokens in it as exist already; if there are cells
  // for the rest.
  Attach attach(Session& session, const Terms& terms);

  // What becomes of cells that are given up.
  enum class Leave {
    nothing,  // they hold nothing of value
    claim,    // the session will have all of its history in cells again: others may wait for that
    copy,     // parked, unless they aren't worth it
    prefix,   // they stay for later sessions with the same beginning, if they are of use to anybody; else as `copy`
  };
  // A copy of the session's cells; empty: there was none to be had.
  std::vector<std::uint8_t> save(const Session& session) {
    return session.moved ? std::vector<std::uint8_t>() : memory_->save(session.sequence);
  }
  // The session has no sequence any more.
  void give_up(Session& session, Leave leave);
  // Gives a session without a sequence one with saved cells. False if that isn't possible: it has none then.
  bool put_back(Session& session, std::uint32_t tokens, std::span<const std::uint8_t> bytes);
  // Parks what was saved of a session that has no sequence.
  void park_saved(Session& session, std::uint32_t tokens, std::vector<std::uint8_t> bytes);
  // The cache holds `tokens` of the session's history from now on, as libllama computed them.
  void computed(Session& session, std::uint32_t tokens) {
    session.moved = false;
    set_cached(session, tokens);
  }
  // Cuts the session's cells back to at most `tokens`; fewer where the memory can't do it exactly.
  void trim(Session& session, std::uint32_t tokens);
  // Tokens go out of the middle of its history, and of its cells: those that it shared it has for itself then. Where
  // there are no cells for that it has none, and computes again what is left. The session shares with nobody any more.
  // False: the memory can't, and nothing changed.
  bool shift(Session& session, const ContextCut& cut);
  // Forgets cells behind what counts as cached: guesses that were wrong.
  void discard_behind(Session& session);
  // After a pass that ended halfway: asks the memory how many tokens there really are.
  void resync(Session& session);
  // And before that: gives up what such a pass took from others (kv_memory.h).
  void give_up_lost();
  // Whether a pass of this session alone may end early: nobody else has anything that goes with it.
  bool may_be_cut(const Session& alone) const;
  // The session's history is final up to its cells: later sessions may share all of it.
  void settle(Session& session);

  // Cells that are free, at the cost of those who don't run, the spared one excepted. False: there aren't so many.
  bool free_up(std::uint32_t cells, const Session* spared = nullptr);
  const CellLedger& cells() const { return ledger_; }
  // Parks everything and gives up every sequence; running sessions too.
  void park_all();
  // With a split layout, gives the running sessions the lowest ids, without gaps: each gap costs a pass of its own.
  void compact();

  // Of all sequences, shared ones for each of them.
  std::uint32_t used_cells() const { return in_sessions_ + prefix_tokens_; }
  // Cells of sessions and prefixes that don't run: every running session's attention passes over them.
  std::uint32_t idle_cells() const;
  std::size_t kept_prefixes() const { return prefixes_.size(); }

  const Parking::Counters& counters() const { return parking_.counters(); }

  // Sharing fewer tokens than this isn't worth scanning the cells for.
  static constexpr std::uint32_t kLeastShared = 8;
  // A beginning this much longer than what exists is worth waiting for when somebody is computing it.
  static constexpr std::uint32_t kWorthWaiting = 16;

 private:
  struct Prefix {
    std::uint64_t owner;  // in the index
    std::int32_t sequence;
    std::vector<Token> tokens;
    AdapterScales adapters;  // that they were computed with
  };
  using PrefixList = std::list<Prefix>;

  struct Source {
    std::uint32_t length = 0;  // tokens it can give
    Session* session = nullptr;
    PrefixList::iterator prefix;
  };
  Source best_source(const Session& session, std::span<const Token> wanted, bool& being_computed);
  static bool worth_waiting(const Session& other, std::uint32_t beginning);
  bool take_id(Session& session);
  // At the cost of the first who doesn't run and isn't spared. False if nobody is left.
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
  // What is parked for all was computed as the load says.
  bool parks_for_all(const Session& session) const { return shares(session) && session.shared->adapters.empty(); }
  Parking::Found find_parked(Session& session, std::span<const Token> wanted, std::uint32_t least, bool may_read);

  const SessionTable& sessions_;
  Parking parking_;
  std::uint32_t max_prefix_tokens_;
  KvMemory* memory_ = nullptr;
  CellLedger ledger_;    // of memory_
  AdapterIndex index_;   // histories that are in cells, or on their way there
  PrefixList prefixes_;  // least recently used first
  std::uint32_t prefix_tokens_ = 0;
  std::uint64_t next_prefix_ = 0;
  std::vector<std::int32_t> free_ids_;  // smallest last
  std::uint32_t in_sessions_ = 0;       // sum of Session::in_cache
};

}  // namespace corral::engine
