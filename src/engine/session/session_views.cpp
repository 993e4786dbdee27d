#include "engine/session/session_views.h"

#include <algorithm>
#include <chrono>

namespace corral::engine {
namespace {

SessionState state_of(const Session& session) {
  switch (session.phase()) {
    case Phase::waiting:
      return SessionState::waiting;
    case Phase::paused:
      return SessionState::paused;
    case Phase::active: {
      const bool decoding = session.generation->usage.completion_tokens > 0 && session.pending() <= 1;
      return decoding ? SessionState::decoding : SessionState::prefill;
    }
    case Phase::aside:
      return SessionState::prefill;
    case Phase::idle:
      break;
  }
  const bool displaced = session.sequence < 0 && session.last_used > 0;
  return displaced ? SessionState::parked : SessionState::idle;
}

}  // namespace

std::vector<SessionView> describe(const SessionTable& sessions, std::uint32_t worker, MonoTime now) {
  std::vector<SessionView> views;
  for (const Session& session : sessions.all()) {
    SessionView& view = views.emplace_back();
    view.id = session.shared->id;
    view.worker = worker;
    view.state = state_of(session);
    view.n_ctx = session.shared->n_ctx;
    view.tokens = static_cast<std::uint32_t>(session.history.size() + session.appended.size());
    view.cached_tokens = session.in_cache;
    if (session.generation) {
      view.generated = session.generation->usage.completion_tokens;
    } else {
      view.unused = std::chrono::duration_cast<Millis>(now - session.touched);
    }
    if (session.phase() == Phase::waiting) {
      view.queue_place = sessions.place_in_queue(session);
      view.reading = session.reads.since.has_value();
    }
  }
  return views;
}

}  // namespace corral::engine
