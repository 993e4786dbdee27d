// Views of a worker's sessions. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "engine/session/session_table.h"
#include "engine/values/session_view.h"

namespace corral::engine {

// What each session is doing; `worker` is the worker's number.
std::vector<SessionView> describe(const SessionTable& sessions, std::uint32_t worker, MonoTime now);

}  // namespace corral::engine
