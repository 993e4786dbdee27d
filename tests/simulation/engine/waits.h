// How long each session of a worker waits for its next token, held against a bound.
//
// Time is counted in passes that did something. A generation waits for those only that were there when its wait began:
//   - Whoever comes later stands behind it in the queue. It is passed over only while another session computes the
//     beginning that both share, or while it waits for the lane; who has a place before it then counts with the others.
//   - In each pass either somebody of those who are there gets a token, or the oldest prompt among them gets half of
//   the
//     room for prompts. Later ones take no place that one of these could have, and their prompts are never the oldest.
//   - What was computed stays, but for causes that can be counted: an older generation comes to its place late (back
//     from a slow reader, from the lane, from waiting for a beginning) and takes cells of younger ones; a pass is cut
//     short or fails; the memory is made anew. Then the prompts concerned may be computed once more.
// So a wait lasts no more passes than
//     the tokens that those who are there will still say
//   + their prompts, and those to be computed once more, divided by the smallest half there was, rounded up each,
//   + the places, for running sessions that take turns.
// Passes that hold prompts back to measure what running streams take are not counted but limited: one for each number
// of streams, until that is forgotten.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/kv_memory.h"
#include "engine/pass_view.h"
#include "engine/session_view.h"
#include "simulation/engine/pass_rules.h"

namespace corral::engine::simulation {

class Waits {
 public:
  struct Rules {
    std::uint32_t places = 0;
    std::uint32_t sequences = 0;               // most there can be
    std::optional<std::uint32_t> lane_tokens;  // from which on a prompt may wait for the lane; none: there is none
    std::function<bool(SessionId)> shares_beginning;  // with another one that has a generation, so that it may wait
  };
  explicit Waits(Rules rules) : rules_(std::move(rules)) {}

  // A generation of at most so many tokens was asked for; in this order they come to the worker.
  void started(SessionId session, std::uint32_t most);

  // What can be seen of a worker between two rounds.
  struct Moment {
    std::vector<SessionView> sessions;
    bool lane_busy = false;
    std::uint64_t memories = 0;  // made so far
  };
  void before(const Moment& moment);
  // A pass is being computed; of several in one round the last one counts.
  void pass(PassView pass, DecodeStatus status);
  // After the round. The rule that was broken; none otherwise.
  std::optional<std::string> after(const Moment& moment, bool computed);

 private:
  // What others' tokens and prompts are worth in passes.
  struct Work {
    std::uint64_t answers = 0;  // tokens still to be said
    std::uint64_t prompt = 0;   // tokens that may have to be computed for that
    std::uint64_t prompts = 0;  // so many
    void add(const Work& other);
  };
  struct Waiter {
    std::uint64_t number = 0;  // of all generations
    std::uint32_t most = 0;
    bool fresh = true;
    SessionView was, is;  // before the round and after it

    // Its wait: what was there when it began, or counts as if.
    std::uint64_t there = 0;  // generations up to this number
    std::set<std::uint64_t> passed_by;
    Work work;
    std::uint64_t passes = 0;
    std::uint32_t half = 0;   // the smallest there was for the oldest prompt; 0: no prompt yet
    std::uint64_t began = 0;  // at this pass

    bool has_place = false, had_place = false;  // in this pass, in the one before
    std::uint64_t left_at = 0;                  // the latest pass without a place after one with
    std::set<std::uint64_t> gone = {};          // sessions that had their turn since its own

    bool runs() const;
    bool counts(const Waiter& other) const { return other.number <= there || passed_by.contains(other.number); }
    Work own() const;
  };
  using Rule = std::optional<std::string>;

  void begin(Waiter& waiter);
  void note_places();
  bool may_be_passed(const Waiter& waiter, bool lane_busy) const;
  Rule overtaken(bool lane_busy) const;
  void count_those_before();
  void count_lost(bool everything);
  Rule count_pass();
  Rule count_turns();
  Rule count_held(const PassSum& sum);
  Rule progress(const Moment& moment, bool computed);
  std::uint64_t bound(const Waiter& waiter) const;

  const Rules rules_;
  std::map<std::uint64_t, Waiter> waiters_;  // by session
  Work all_;                                 // of those who are there
  std::uint64_t last_number_ = 0;
  Moment moment_;  // before the round
  std::optional<PassView> pass_;
  DecodeStatus status_ = DecodeStatus::ok;
  std::uint64_t passes_ = 0, good_passes_ = 0, held_ = 0;
  std::uint32_t in_vain_ = 0;  // passes in a row
};

}  // namespace corral::engine::simulation
