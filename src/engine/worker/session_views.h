// What a worker tells about its sessions. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "engine/values/session_view.h"
#include "engine/worker/roster.h"

namespace corral::engine {

// What each of them is doing, at the worker with this number.
std::vector<SessionView> describe(const Roster& roster, std::uint32_t worker, MonoTime now);

}  // namespace corral::engine
