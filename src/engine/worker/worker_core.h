// A generating worker without its thread: takes commands, and conducts one round after another. Each round gives places
// to sessions that wait, chooses a layout for the memory, and computes one pass for all that run. Who decides and does
// all this are the objects below, each of which knows those above it only.
//
// Knows libllama only through KvMemory, TokenTable and TokenPicker, so that the simulation runs this very code. One
// thread at a time. Nothing throws out of it: what does inside ends the generations concerned with worker_failed
// (worker_failure.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/kv/kv_memory.h"
#include "engine/kv/parked_store.h"
#include "engine/kv/token_table.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/drafter.h"
#include "engine/schedule/pass_view.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/threads/chores.h"
#include "engine/values/stats.h"
#include "engine/worker/answer_writer.h"
#include "engine/worker/commands.h"
#include "engine/worker/endings.h"
#include "engine/worker/guesser.h"
#include "engine/worker/in_hand.h"
#include "engine/worker/lane_desk.h"
#include "engine/worker/memory_keeper.h"
#include "engine/worker/memory_mover.h"
#include "engine/worker/pass.h"
#include "engine/worker/pass_planner.h"
#include "engine/worker/pass_runner.h"
#include "engine/worker/places.h"
#include "engine/worker/prompt_budget.h"
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"
#include "engine/worker/session_views.h"
#include "engine/worker/token_taker.h"
#include "engine/worker/worker_options.h"

namespace corral::engine {

class WorkerCore {
 public:
  // `box` brings the commands; its abort flag is the one that the memory polls. `memory` is what `make` made with the
  // shape of one pool. `clock` is asked at each step. `drafter` and `lane` may be nullptr; the lane's results come
  // through the box. `costs`: without one those of a CPU. `growth`: needed where WorkerOptions::most_cells is.
  // `explain` says more of an out_of_memory of `make`; that takes a while, so it is a chore: without `chores` nobody
  // asks.
  struct Parts {
    const TokenTable& tokens;
    std::unique_ptr<KvMemory> memory;
    KvMaker make;
    KvGrowth growth = {};
    std::shared_ptr<CommandBox> box;
    std::shared_ptr<ParkedStore> store;
    std::unique_ptr<CostModel> costs = {};
    std::unique_ptr<Drafter> drafter;
    std::unique_ptr<PrefillLane> lane;
    std::shared_ptr<Chores> chores = nullptr;
    std::function<Error(const Error&, KvShape)> explain = {};
    std::function<MonoTime()> clock = [] { return MonoClock::now(); };
  };
  WorkerCore(Parts parts, WorkerOptions options);
  ~WorkerCore();

  // Takes the commands that came in, waiting for one if `wait`. False: the box is closed.
  bool take_commands(bool wait);
  // One round; false if there was nothing to compute.
  bool round();
  // Ends all streams with `shutdown`; what is in cells is parked where that is of use.
  void shut_down();

  WorkerStats stats() const;
  // What each session is doing, at the worker with this number.
  std::vector<SessionView> sessions(std::uint32_t worker) const { return describe(roster_, worker, clock_()); }
  // Generations that ended with an error since one got through, up to a few; on any thread.
  std::uint32_t failed_in_row() const { return endings_.failed_in_row(); }
  // The pass that is being computed: to be asked by the memory that computes it.
  PassView pass() const { return view_of(pass_, roster_); }

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

  const WorkerOptions options_;
  const std::shared_ptr<CommandBox> box_;
  const std::function<MonoTime()> clock_;
  const std::unique_ptr<CostModel> costs_;
  // Files of parked KV that have been read, or couldn't be.
  const std::shared_ptr<std::atomic<std::uint64_t>> reads_ended_ = std::make_shared<std::atomic<std::uint64_t>>(0);

  // What the others work with.
  WorkerStats counters_;
  InHand hand_;
  Roster roster_;
  Sequences sequences_;
  MemoryKeeper keeper_;
  AnswerWriter writer_;
  const PromptBudget prompts_;
  // Who runs, and in which memory.
  LaneDesk lane_;
  Endings endings_;
  MemoryMover mover_;
  Places places_;
  // A pass.
  PassPlanner planner_;
  Guesser guesser_;
  TokenTaker taker_;
  PassRunner runner_;

  std::uint64_t next_order_ = 1;
  std::vector<Command> commands_;
  Pass pass_;  // the latest one
};

}  // namespace corral::engine
