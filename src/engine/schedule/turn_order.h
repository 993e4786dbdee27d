// Order of admission of generations: clients take turns, however many generations each has waiting. Keeps state,
// otherwise pure; not thread-safe.
//
// Start-time fair queuing by client: the turn of a generation is the current turn, or the one behind its client's last
// turn; within a turn, first come is first. While others wait, each admission advances the current turn by a fraction
// (one divided by the number of clients). So a stream of new clients, each with a new name, can't delay a generation
// without limit.
//
// Background generations have their own turns, each eight turns behind the last one: they get a ninth of the admissions
// beside one client that always has requests. AdmissionController limits how many of them are active
// (worker/admission_controller.h).
//
// A single client is served in the order of its requests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace corral::engine {

class TurnOrder {
 public:
  // Order of a new generation: smaller is first; no two living generations have the same. Throws std::bad_alloc, and
  // then nothing has changed.
  std::uint64_t enter(const std::string& client, bool background);
  // The generation with this order was admitted for the first time.
  void began(std::uint64_t order, const std::string& client, bool background) noexcept;
  // The generation ended without ever being admitted. If it was its client's last, or none of the client's waits, its
  // turn is released; otherwise later generations keep their turns, and none is moved ahead of them.
  void left(std::uint64_t order, const std::string& client, bool background) noexcept;

  // Clients that wait, or have had the current turn.
  std::size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    std::uint64_t next = 0;    // next turn
    std::uint64_t served = 0;  // next turn if no generation waited
    std::size_t waiting = 0;
  };
  using Clients = std::map<std::pair<std::string, bool>, Client>;  // foreground and background separately
  Clients::iterator find(const std::string& client, bool background) noexcept;
  // One generation less of the client waits.
  void take_one(Clients::iterator client) noexcept;

  std::uint64_t now_ = 0;     // current turn, in fractions
  std::uint64_t number_ = 0;  // count of generations
  std::size_t waiting_ = 0;   // clients with waiting generations
  Clients clients_;
};

}  // namespace corral::engine
