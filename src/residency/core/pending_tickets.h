// Tickets that wait for instances to stop or to be downsized: those of unloads and of simulated pressure.
#pragma once

#include "residency/core/step.h"
#include "residency/state.h"

namespace corral::residency {

// Outcome of an instance that was to free memory.
enum class Reclaimed : std::uint8_t { nothing, downsized, evicted };

class PendingTickets {
 public:
  explicit PendingTickets(State& state) : state_(state) {}

  // Completes the reclaims that waited for this instance only.
  void reclaimed(const Instance& instance, Reclaimed what, const Step& step);
  // The same for unloads: its process is gone.
  void gone(const Instance& instance, const Step& step);
  // No caller waits for this ticket any longer.
  void cancel(TicketId ticket);

 private:
  State& state_;
};

}  // namespace corral::residency
