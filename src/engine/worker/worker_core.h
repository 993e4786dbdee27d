// A generating worker without its thread: sessions, the memory they compute in, and one round after another. Each round
// gives places to sessions that wait, chooses a layout for the memory, and computes one pass for all that run.
//
// Knows libllama only through KvMemory, TokenTable and TokenPicker, so that the simulation runs this very code. One
// thread at a time. Nothing throws out of it: what does inside ends the generations concerned with worker_failed
// (worker_failure.cpp).
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/kv/kv_memory.h"
#include "engine/sample/sample_team.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/drafter.h"
#include "engine/schedule/guess_length.h"
#include "engine/schedule/layout.h"
#include "engine/schedule/pass_view.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/schedule/scheduler.h"
#include "engine/threads/chores.h"
#include "engine/values/stats.h"
#include "engine/worker/answer_writer.h"
#include "engine/worker/commands.h"
#include "engine/worker/endings.h"
#include "engine/worker/in_hand.h"
#include "engine/worker/lane_desk.h"
#include "engine/worker/memory_keeper.h"
#include "engine/worker/memory_mover.h"
#include "engine/worker/places.h"
#include "engine/worker/prompt_budget.h"
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"
#include "engine/worker/session.h"
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
  std::vector<SessionView> sessions(std::uint32_t worker) const;
  // Generations that ended with an error since one got through, up to a few; on any thread.
  std::uint32_t failed_in_row() const { return endings_.failed_in_row(); }
  // The pass that is being computed: to be asked by the memory that computes it.
  PassView pass() const;

 private:
  // worker_core.cpp: commands
  void apply(CreateSession&& command);
  void apply(AppendTokens&& command);
  void apply(StartGeneration&& command);
  void apply(CancelGeneration&& command);
  void apply(EndSession&& command);
  void apply(Downsize&& command);
  void apply(SetThreads&& command);
  void apply(DescribeSessions&& command);  // worker_view.cpp
  void apply(PrefillStep&& step);
  void apply(PrefillResult&& result);
  void receive(Command& command);
  void downsize(DownsizeReport& report);
  bool step();
  bool end_computed();

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

  // worker_pass.cpp: what goes into a pass, and what to do when it doesn't work out
  struct PassItem {
    Session* session = nullptr;
    std::uint32_t tokens = 0;   // so many of its pending ones
    std::int32_t row = -1;      // batch index of the last pending one, whose logits are wanted; -1: not in this pass
    std::uint32_t drafted = 0;  // guesses behind it, in the rows that follow
    std::uint32_t first_draft = 0;  // in drafts_
    std::uint32_t padding = 0;      // rows behind those that only make all sessions' rows equally many
  };
  void compute_pass();
  void plan_pass();
  bool find_cells();
  void take_turns();
  void find_fillers(std::uint32_t rows);
  void add_fillers();
  void add_drafts();
  std::uint32_t room_behind(const Session& session) const;
  void decode(std::span<PassItem> items);
  std::uint32_t fill_batch(std::span<PassItem> items);
  void take_results(std::span<const PassItem> items);
  void sample_ahead(std::span<const PassItem> items);
  void take_result(const PassItem& item);
  static bool streams_only(std::span<const PassItem> items);
  bool without_extras(std::span<PassItem> items);
  void find_blame(std::span<const PassItem> items);
  Session* next_suspect() const;

  // worker_output.cpp: what a token means
  void on_token(Session& session, Token token, const float* logits);
  Result<Token> sample(Generation& generation, const float* logits);

  const WorkerOptions options_;
  const TokenTable& tokens_;
  const std::shared_ptr<CommandBox> box_;
  const std::function<MonoTime()> clock_;
  const std::unique_ptr<CostModel> costs_;
  const std::unique_ptr<Drafter> drafter_;
  // Files of parked KV that have been read, or couldn't be.
  const std::shared_ptr<std::atomic<std::uint64_t>> reads_ended_ = std::make_shared<std::atomic<std::uint64_t>>(0);

  WorkerStats counters_;
  InHand hand_;
  Roster roster_;
  Sequences sequences_;
  MemoryKeeper keeper_;
  AnswerWriter writer_;
  Batch batch_;
  const PromptBudget prompts_;
  LaneDesk lane_;
  Endings endings_;
  MemoryMover mover_;
  Places places_;

  std::uint64_t next_order_ = 1;
  std::vector<Command> commands_;
  std::vector<RunnableView> views_;
  std::vector<std::uint64_t> prefilling_;
  BatchLimits limits_;  // of the latest pass
  std::vector<PassItem> items_;
  std::vector<Sequences::FillerRow> fillers_;  // of the latest pass, behind those of its items
  bool measuring_ = false;                     // this pass is to show what running streams take
  std::vector<Guess> drafts_;
  std::vector<GuessList> guess_lists_;
  struct Ahead {
    Session* session;
    const float* logits;
    std::exception_ptr thrown = {};
  };
  std::vector<Ahead> ahead_;
  SampleTeam team_;
};

}  // namespace corral::engine
