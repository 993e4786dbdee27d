// What nobody foresaw: an allocation that failed, an exception out of libllama, a thread that can't be started.
//
// Whatever was being changed then may be half done, so nothing that can be had again is trusted: the memory (its
// context may be broken for good) and all that is known of its cells. Both are made anew. What sessions hold, their
// histories and samplers, is changed in steps that are done or not, so those that weren't concerned only wait for their
// turn again and lose what was computed. Those that were end with `worker_failed`: the one whose turn it was; all of
// the pass, where it was being computed; everybody who runs or waits, where it can't be said.
#include <utility>

#include "base/log.h"
#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {

void WorkerCore::recover(const char* what, Blame blame) noexcept {
  try {
    log::error("engine", "a worker starts afresh: {}", what);
  } catch (...) {  // then nobody reads of it
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
    return blame == Blame::everybody && session.phase() != Phase::paused && session.phase() != Phase::aside;
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
