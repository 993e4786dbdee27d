// The state of the core and its parts. Each part knows only those above it that its constructor names. It passes
// results to parts below as return values.
#pragma once

#include <set>

#include "residency/core/adoption.h"
#include "residency/core/control.h"
#include "residency/core/downsizer.h"
#include "residency/core/explicit_loads.h"
#include "residency/core/failures.h"
#include "residency/core/leases.h"
#include "residency/core/lifecycle.h"
#include "residency/core/load_queue.h"
#include "residency/core/load_scheduler.h"
#include "residency/core/local_requests.h"
#include "residency/core/memory_watch.h"
#include "residency/core/peer_requests.h"
#include "residency/core/pending_tickets.h"
#include "residency/core/pins.h"
#include "residency/core/preflight.h"
#include "residency/core/process_events.h"
#include "residency/core/recalls.h"
#include "residency/core/reclaimer.h"
#include "residency/core/waiters.h"
#include "residency/core/wake_timer.h"
#include "residency/state.h"

namespace corral::residency {

struct CoreParts {
  CoreParts() = default;
  CoreParts(const CoreParts&) = delete;
  CoreParts& operator=(const CoreParts&) = delete;

  State state;
  // The instances and their shared mechanisms.
  WakeTimer timer{state};
  MemoryWatch watch{state};
  PendingTickets tickets{state};
  Preflight preflight{state};
  Lifecycle lifecycle{state, preflight, tickets};
  Adoption adoption{state, lifecycle};
  Pins pins{state, adoption};
  Leases leases{state, lifecycle, timer};
  Waiters waiters{state, lifecycle, adoption, leases};
  LoadQueue queue{state, lifecycle, waiters};
  Failures failures{state, preflight, lifecycle, waiters, queue};
  // Handlers of events.
  PeerRequests peers{state, preflight, lifecycle, adoption, leases, waiters, watch};
  LocalRequests requests{state, adoption, leases, waiters, queue, peers};
  ExplicitLoads loads{state, preflight, lifecycle, adoption, pins, waiters, queue, peers};
  ProcessEvents processes{state, lifecycle, pins, waiters, failures};
  Control control{state, tickets, lifecycle, adoption, waiters};
  // Consequences of the state.
  Downsizer downsizer{state, lifecycle, tickets};
  Reclaimer reclaimer{state, lifecycle, downsizer};
  Recalls recalls{state, lifecycle, waiters, queue};
  LoadScheduler scheduler{state, preflight, lifecycle, adoption, pins, waiters, queue, failures};
};

}  // namespace corral::residency
