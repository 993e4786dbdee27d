// In which order generations get places: clients take turns, however many generations each of them has waiting. Pure,
// but for what it remembers; not safe on threads.
//
// Start-time fair queuing by client: a generation's turn is the one that runs now, or the one behind its client's last;
// who comes first within a turn is first. While others wait, the running turn goes on by a part of a turn with each
// place that is given (as many parts as there are clients), so those that come new all the time, each under another
// name, pass nobody by for ever.
//
// What may wait (background) has turns of its own, each eight behind the last: it gets a ninth of the places beside one
// client that always asks. How many places it may have at most is for who gives them (worker/admission_controller.h).
//
// One client alone is served in the order in which it asks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace corral::engine {

class TurnOrder {
 public:
  // Of a generation that comes now: smaller goes first; no two that live at a time have the same. Throws
  // std::bad_alloc, and then nothing was changed.
  std::uint64_t enter(const std::string& client, bool background);
  // This client's, with this order, has got its first place.
  void began(std::uint64_t order, const std::string& client, bool background) noexcept;
  // This one went without ever having had a place. If it was the client's last, or none of its waits any more, it was
  // no turn; else those that came after it keep theirs, and nobody comes before them.
  void left(std::uint64_t order, const std::string& client, bool background) noexcept;

  // That wait, or have had this turn.
  std::size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    std::uint64_t next = 0;    // turn
    std::uint64_t served = 0;  // what would be next if nothing waited
    std::size_t waiting = 0;
  };
  using Clients = std::map<std::pair<std::string, bool>, Client>;  // each kind by itself
  Clients::iterator find(const std::string& client, bool background) noexcept;
  // It has one less that waits.
  void take_one(Clients::iterator client) noexcept;

  std::uint64_t now_ = 0;     // the turn that runs, in parts of one
  std::uint64_t number_ = 0;  // of generations that came
  std::size_t waiting_ = 0;   // clients that have some waiting
  Clients clients_;
};

}  // namespace corral::engine
