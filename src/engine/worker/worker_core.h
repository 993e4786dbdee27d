// A generating worker without its thread: applies commands, and runs one round after another. Each round admits waiting
// sessions, chooses the memory layout, and computes one pass for all active sessions. Its components do the work
// (worker_components.h).
//
// Knows libllama only through KvMemory, TokenTable and TokenPicker, so that the simulation runs this very code. One
// thread at a time. No exception leaves it: an exception ends the affected generations with worker_failed
// (worker_failure.cpp).
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "engine/schedule/pass_view.h"
#include "engine/session/session_views.h"
#include "engine/values/session_view.h"
#include "engine/values/stats.h"
#include "engine/worker/commands.h"
#include "engine/worker/worker_components.h"

namespace corral::engine {

class WorkerCore {
 public:
  using Parts = WorkerParts;
  WorkerCore(Parts parts, WorkerOptions options);
  ~WorkerCore();

  // Applies the posted commands, and waits for one if `wait`. False: the box is closed.
  bool take_commands(bool wait);
  // One round; false if there was nothing to compute.
  bool round();
  // Ends all streams with `shutdown`, and parks cells that another session can use.
  void shut_down();

  WorkerStats stats() const { return components_.stats(); }
  // What each session is doing; `worker` is the number of this worker.
  std::vector<SessionView> sessions(std::uint32_t worker) const {
    return describe(components_.sessions, worker, components_.clock());
  }
  // Failures since the last generation that succeeded, up to a small limit; on any thread.
  std::uint32_t failed_in_row() const { return components_.finisher.failed_in_row(); }
  // The running pass: for the memory that computes it.
  PassView pass() const { return view_of(components_.pass, components_.sessions); }

 private:
  // worker_core.cpp: commands
  void apply(CreateSession&& command);
  void apply(AppendTokens&& command);
  void apply(StartGeneration&& command);
  void apply(CancelGeneration&& command);
  void apply(EndSession&& command);
  void apply(Downsize&& command);
  void apply(SetThreads&& command);
  void apply(DescribeSessions&& command);
  void apply(PrefillStep&& step);
  void apply(PrefillResult&& result);
  void receive(Command& command);
  static void prime(Generation& generation, const Session& session);
  void downsize(DownsizeReport& report);
  bool step();
  bool end_computed();
  void compute_pass();

  // worker_failure.cpp: unexpected failures
  enum class Blame { none, all };  // applies if the fault scope names no session
  // False: it threw, and the worker has recovered.
  template <typename Call>
  bool guarded(Blame blame, Call call) noexcept {
    try {
      call();
      return true;
    } catch (const std::exception& failure) {
      recover(failure.what(), blame);
    } catch (...) {
      recover("an unknown exception", blame);
    }
    return false;
  }
  void recover(const char* what, Blame blame) noexcept;

  WorkerComponents components_;
  std::vector<Command> commands_;
};

}  // namespace corral::engine
