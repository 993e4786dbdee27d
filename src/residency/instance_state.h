// The states of one instance and the only moves between them.
//
//   queued ──> loading ──> ready <──> in_use <─────────╮        a load that nobody wants any more goes queued ──> gone
//                │         ▲ │ ╲         │             │
//                │         │ │  ╰> downsizing ──> downsized     a request goes through at any time: the child restores
//                │         ╰─┼──────╯    │             │        itself; downsizing goes back to ready when the child
//                │           ▼           ▼             │        can't
//                │        draining <─────┴─────────────╯        draining goes back to in_use when the load that wanted
//                ▼           ▼                                  the place is gone
//             evicting <─────╯   (the child has been told to stop; from loading: the load was cancelled or took too
//                ▼                long)
//              gone                                             any ──> failed: the child ended by itself
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

// True while an instance takes requests at once: downsized ones too, they get their memory back by themselves.
constexpr bool serves(InstanceState state) {
  return state >= InstanceState::ready && state <= InstanceState::downsized;
}
// True while an instance takes a slot of its type: from the start of the load until the child is gone.
constexpr bool takes_slot(InstanceState state) { return state != InstanceState::queued && state < InstanceState::gone; }
// True while the model counts as loaded, busy or not, leaving or not.
constexpr bool is_resident(InstanceState state) {
  return state > InstanceState::loading && state < InstanceState::evicting;
}

}  // namespace corral::residency
