// The states of one instance and the allowed moves between them.
//
//   queued ──> loading ──> ready <──> in_use <─────────╮        a load without waiters goes queued ──> gone
//                │         ▲ │ ╲         │             │
//                │         │ │  ╰> downsizing ──> downsized     a request starts in each of these states: the process
//                │         ╰─┼──────╯    │             │        restores itself; a failed downsize goes back to ready
//                │           ▼           ▼             │
//                │        draining <─────┴─────────────╯        draining goes back to in_use if the load that needed
//                ▼           ▼                                  the slot or memory is gone
//             evicting <─────╯   (the process is being stopped; from loading: the load was cancelled or took too
//                ▼                long)
//              gone                                             any ──> failed: the process ended unexpectedly
#pragma once

#include <cstdint>

namespace corral::residency {

enum class InstanceState : std::uint8_t {
  queued,
  loading,
  ready,
  in_use,
  downsizing,
  downsized,
  draining,
  evicting,
  gone,
  failed,
};
inline constexpr int kInstanceStateCount = 10;

// The name used in the API and in logs.
const char* name_of(InstanceState state);

// True when the table above has this move.
bool may_move(InstanceState from, InstanceState to);

// True while an instance accepts requests at once. Downsized ones do too: they restore their memory automatically.
constexpr bool serves(InstanceState state) {
  return state >= InstanceState::ready && state <= InstanceState::downsized;
}
// True while an instance takes a slot of its type: from the start of the load until the process is gone.
constexpr bool takes_slot(InstanceState state) { return state != InstanceState::queued && state < InstanceState::gone; }
// True while the model counts as loaded, also if it is busy or draining.
constexpr bool is_resident(InstanceState state) {
  return state > InstanceState::loading && state < InstanceState::evicting;
}

}  // namespace corral::residency
