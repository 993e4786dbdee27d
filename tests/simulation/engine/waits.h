// How long each session of a worker waits for its next token, held against a bound.
//
// A generation waits for those only that were there when its wait began:
//   - Who comes later stands behind it in the queue, and gets no place before it, not even where it lost its place or
//     its reader was slow. It is passed over only while another session computes the beginning that both share, or
//     while it waits for the lane or a file; who has a place before it then counts with those who were there. Who loses
//     his place for want of cells is the newest.
//   - No place stays empty while somebody could have it, unless there are no cells for who stands first.
//   - Where prompts are computed, the oldest gets half of the room in the pass, and that is never a later one's.
//   - Where none is, each pass brings somebody a token; of running sessions that take turns nobody goes twice while
//     another stands still.
// Where sessions have different adapters, those of the pass alone count it: sets go in turns, whatever they have to
// compute. Work in vain is bounded: whoever gets a place finds cells for all that has to be computed and for 16 tokens
// more of each who has one (cell_ledger.h), so nobody loses his place for want of cells before somebody has said as
// many. So the passes of a wait are of two kinds, and there are no more than
//   - with prompts: until their halves come to the tokens that those who were there have to compute (and one pass for
//     each of them, whose half isn't used up),
//   - without: the tokens that those who were there may still say.
// What was computed stays, but for causes that can be counted, and then may have to be computed once more: an older
// generation comes late to its place (back from a slow reader, from the lane, from waiting for a beginning) and takes
// cells of younger ones; a pass is cut short or fails; the memory is made anew. Two kinds of passes are not counted,
// but limited: those that hold prompts back to measure what running streams take (one for each number of streams, until
// that is forgotten), and those in which one computes alone because a pass failed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/kv/kv_memory.h"
#include "engine/schedule/pass_view.h"
#include "engine/values/session_view.h"
#include "simulation/engine/pass_rules.h"

namespace corral::engine::simulation {

class Waits {
 public:
  struct Rules {
    std::uint32_t places = 0;
    std::uint32_t sequences = 0;               // most there can be
    std::uint32_t cells = 0;                   // of all together
    std::optional<std::uint32_t> lane_tokens;  // from which on a prompt may wait for the lane; none: there is none
    std::function<bool(SessionId)> shares_beginning;  // with another one that has a generation, so that it may wait
  };
  explicit Waits(Rules rules) : rules_(std::move(rules)) {}

  // A generation of at most so many tokens was asked for; in this order they come to the worker.
  void started(SessionId session, std::uint32_t max);

  // What can be seen of a worker between two rounds.
  struct Moment {
    std::vector<SessionView> sessions;
    bool lane_busy = false;
    bool explaining = false;  // there is no memory, and a background task may have to find out why: all wait for that
    std::uint64_t memories = 0;  // made so far, or refused
    std::uint32_t parts = 0;     // of the memory; 0: a pool
    std::uint64_t fresh_starts = 0;
    std::uint64_t preemptions = 0;  // for want of cells
  };
  void before(const Moment& moment);
  // A pass is being computed, in the memory with this number; of several in one round the last one counts.
  void pass(PassView pass, DecodeStatus status, std::uint64_t memory);
  // After the round. The rule that was broken; none otherwise.
  std::optional<std::string> after(const Moment& moment, bool computed);

 private:
  using Rule = std::optional<std::string>;
  struct Work {
    std::uint64_t answers = 0;  // tokens still to be said
    std::uint64_t prompt = 0;   // tokens that have to be computed for that
    std::uint64_t prompts = 0;  // by so many sessions
    void add(const Work& other);
  };
  struct Waiter {
    std::uint64_t number = 0;  // of all generations: who waits stands by it
    std::uint32_t max = 0;
    bool fresh = true;
    bool wanted_lane = false;             // and stands before others for it
    SessionView was, is;                  // before the round and after it
    bool has_place = false;               // in the latest pass
    bool had_place = false;               // in the one before
    std::uint64_t left_at = 0;            // the latest pass without a place after one with
    std::uint32_t generated_by_then = 0;  // tokens, when somebody got a place last

    // Its wait, and what was there when it began, or counts as if.
    std::uint64_t began = 0;  // at this pass
    std::uint64_t there = 0;  // generations up to this number
    std::set<std::uint64_t> passed_by;
    Work work;
    std::uint64_t halves = 0;        // of the passes with prompts
    std::uint64_t largest_half = 0;  // of these
    std::uint64_t others = 0;        // passes without
    std::set<std::uint64_t> gone;    // sessions that had their turn since its own

    bool ran() const;
    bool runs() const;
    bool reading() const { return was.reading || is.reading; }
    bool waits() const { return was.state == SessionState::waiting && is.state == SessionState::waiting; }
    bool paused() const { return was.state == SessionState::paused || is.state == SessionState::paused; }
    bool counts(const Waiter& other) const { return other.number <= there || passed_by.contains(other.number); }
    Work own() const;
  };

  Waiter* find(SessionId session);
  void start_afresh();
  void begin(Waiter& waiter);
  void sum_up();
  // waits_queue.cpp: who has a place
  void note_places();
  void note_left();
  bool may_want_lane(const Waiter& waiter, bool lane_busy) const;
  bool may_be_passed(const Waiter& waiter, bool lane_busy) const;
  Rule overtaken(bool lane_busy);
  bool lost_for_cells(const Waiter& one, bool lane_busy) const;
  Rule displaced(const Moment& moment, bool lane_busy);
  Rule in_vain(const Moment& moment, bool lane_busy);
  bool may_want_cells(const Waiter& first, bool lane_busy) const;
  Rule empty_place(const Moment& moment) const;
  // waits.cpp: how long that takes
  void count_those_before();
  void count_lost(bool everything);
  bool is_other(std::uint64_t session) const;
  Rule count_pass();
  Rule count_turns();
  Rule count_uncounted(const PassSum& sum);
  Rule progress(const Moment& moment, bool computed);

  const Rules rules_;
  std::map<std::uint64_t, Waiter> waiters_;  // by session
  Work all_;                                 // of those who are there
  std::uint64_t last_number_ = 0;
  bool promised_ = false;  // cells, to all who had a place when somebody got one last; nothing has upset that since
  Moment moment_;          // before the round
  std::optional<PassView> pass_;
  DecodeStatus status_ = DecodeStatus::ok;
  std::uint64_t memory_ = 0;
  std::uint64_t passes_ = 0, good_passes_ = 0, held_ = 0;
  std::uint64_t alone_ = 0, max_alone_ = 0;
  std::uint32_t in_vain_ = 0;  // passes in a row, since somebody ended
};

}  // namespace corral::engine::simulation
