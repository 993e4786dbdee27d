// What a worker tells about its sessions.
#include <algorithm>
#include <chrono>
#include <new>

#include "engine/worker/worker_core.h"

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

void WorkerCore::apply(DescribeSessions&& command) {
  try {
    command.to->add(sessions(command.worker));
  } catch (const std::bad_alloc&) {  // whoever asked hears of the others; nothing was changed
  }
}

std::vector<SessionView> WorkerCore::sessions(std::uint32_t worker) const {
  const MonoTime now = clock_();
  std::vector<SessionView> views;
  for (const Session& session : roster_.all()) {
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
    if (session.phase() == Phase::waiting) view.queue_place = roster_.place_in_queue(session);
  }
  return views;
}

PassView WorkerCore::pass() const {
  PassView view{.sessions = {},
                .limits = limits_,
                .fillers = static_cast<std::uint32_t>(fillers_.size()),
                .alone = next_suspect() != nullptr};
  for (const Session* session : roster_.active()) {
    PassView::Row& row = view.sessions.emplace_back();
    row.session = session->shared->id;
    row.state = runnable_view(*session);
    const auto item = std::ranges::find(items_, session, &PassItem::session);
    if (item == items_.end()) continue;
    row.tokens = item->tokens;
    row.guesses = item->drafted + item->padding;
  }
  return view;
}

}  // namespace corral::engine
