// A generating worker without its thread: takes commands, and conducts one round after another. Each round gives places
// to sessions that wait, chooses a layout for the memory, and computes one pass for all that run. Its components do the
// work (worker_components.h).
//
// Knows libllama only through KvMemory, TokenTable and TokenPicker, so that the simulation runs this very code. One
// thread at a time. Nothing throws out of it: what does inside ends the generations concerned with worker_failed
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

  // Takes the commands that came in, waiting for one if `wait`. False: the box is closed.
  bool take_commands(bool wait);
  // One round; false if there was nothing to compute.
  bool round();
  // Ends all streams with `shutdown`; what is in cells is parked where that is of use.
  void shut_down();

  WorkerStats stats() const { return components_.stats(); }
  // What each session is doing, at the worker with this number.
  std::vector<SessionView> sessions(std::uint32_t worker) const {
    return describe(components_.sessions, worker, components_.clock());
  }
  // Generations that ended with an error since one got through, up to a few; on any thread.
  std::uint32_t failed_in_row() const { return components_.finisher.failed_in_row(); }
  // The pass that is being computed: to be asked by the memory that computes it.
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
  void downsize(DownsizeReport& report);
  bool step();
  bool end_computed();
  void compute_pass();

  // worker_failure.cpp: what nobody foresaw
  enum class Blame { nobody, everybody };  // where it isn't known who is concerned
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
