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
  ++crew_.counters.fresh_starts;
  crew_.box->end_pass();
  crew_.keeper.start_over();
  crew_.roster.feed();
  crew_.pass.fillers.clear();
  crew_.guesser.start_over();
  const auto [hand, computing] = std::exchange(crew_.hand, {});
  const auto concerned = [&](const Session& session) {
    if (hand != nullptr) return hand == &session;
    if (computing) return crew_.pass.has(session);
    return blame == Blame::everybody && session.phase() != Phase::paused && session.phase() != Phase::aside;
  };
  for (Session& session : crew_.roster.all()) {
    if (!session.generation) continue;
    if (concerned(session)) {
      crew_.endings.fail(session, what);
    } else if (session.phase() != Phase::paused && session.phase() != Phase::aside) {
      crew_.roster.wait(session);
    }
  }
}

}  // namespace corral::engine
