// What a session is doing, for views and logs: a copy made between two passes.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "engine/values/types.h"

namespace corral::engine {

enum class SessionState {
  idle,      // no generation; its tokens are in the KV cache, or it has none yet
  waiting,   // its generation waits for admission
  prefill,   // its prompt is being computed
  decoding,  // a token per pass
  paused,    // its reader is slow
  parked,    // no generation, and its KV cells went to other sessions
};
const char* to_string(SessionState state);

struct SessionView {
  SessionId id;
  std::uint32_t worker = 0;
  SessionState state = SessionState::idle;
  std::uint32_t n_ctx = 0;          // most tokens it may hold
  std::uint32_t tokens = 0;         // in its history
  std::uint32_t cached_tokens = 0;  // of these, in the KV cache
  std::uint32_t generated = 0;      // by the running generation
  std::uint32_t queue_place = 0;    // while it waits: 1 is next; otherwise 0
  bool reading = false;             // while it waits: parked KV was looked for in a file for it
  Millis unused{0};                 // since its last append or the end of its last generation; 0 while a generation
                                    // runs
};

}  // namespace corral::engine
