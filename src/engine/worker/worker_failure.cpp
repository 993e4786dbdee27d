// Unexpected failures: a failed allocation, an exception of libllama, a thread that can't be started.
//
// The interrupted change may be half done. So the worker discards everything that it can rebuild: the KV memory (its
// context may be broken) and all records of its cells. The contents of sessions (histories, samplers) change in steps
// that are complete or not done. So sessions that were not involved only lose their computed cells and wait for
// admission again. The others end with `worker_failed`: the session whose step failed; all sessions of the pass, if the
// pass was being computed; all active and waiting sessions, if the cause is unknown.
#include <utility>

#include "base/log.h"
#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {

void WorkerCore::recover(const char* what, Blame blame) noexcept {
  try {
    log::error("engine", "an engine worker restarts: {}", what);
  } catch (...) {  // then the log has no entry
  }
  ++components_.counters.fresh_starts;
  components_.box->end_pass();
  components_.kv.start_over();
  components_.sessions.unblock();
  components_.pass.padding.clear();
  components_.speculator.start_over();
  const auto [faults, computing] = std::exchange(components_.faults, {});
  const auto concerned = [&](const Session& session) {
    if (faults != nullptr) return faults == &session;
    if (computing) return components_.pass.has(session);
    return blame == Blame::all && session.phase() != Phase::paused && session.phase() != Phase::aside;
  };
  for (Session& session : components_.sessions.all()) {
    if (!session.generation) continue;
    if (concerned(session)) {
      components_.finisher.fail(session, what);
    } else if (session.phase() != Phase::paused && session.phase() != Phase::aside) {
      components_.sessions.wait(session);
    }
  }
}

}  // namespace corral::engine
