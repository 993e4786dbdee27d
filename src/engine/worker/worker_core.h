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
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"
#include "engine/worker/session.h"

namespace corral::engine {

struct WorkerOptions {
  std::uint32_t max_sequences = 16;
  std::uint32_t prefix_cache_tokens = 0;         // in the memory that the worker begins with; more in a larger one
  std::uint32_t most_prefix_cache_tokens = ~0u;  // in any
  std::uint32_t most_cells = 0;                  // that a pool may grow to; 0: it doesn't
  KvLayout layout = KvLayout::automatic;
  std::uint32_t cell_multiple = 1;           // see LayoutFacts
  SetThreads threads = {1, 1};               // of the memory; with a lane they are shared out
  std::uint32_t lane_tokens = kLeastInLane;  // of a prompt, from which on it belongs there
  bool park_at_end = false;                  // what is in cells is wanted when the worker has gone
  std::uint32_t draft_tokens = 0;            // most guesses at a session in a pass; 0: none
  std::uint32_t draft_active = 0;            // most running sessions beside which guessing pays
  Millis most_reading{10'000};               // that a session waits for files of parked KV; then it computes
  Millis most_explaining{10'000};            // that generations wait to be told what memory was missing
};

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
  std::uint32_t failed_in_row() const { return failed_in_row_; }
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
  void apply(PrefillStep&& step);          // worker_lane.cpp
  void apply(PrefillResult&& result);      // worker_lane.cpp
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
  void end_failed(Session& session, const char* what) noexcept;
  void forget_lane() noexcept;

  // worker_memory.cpp: places and cells
  void resume_paused();
  void admit();
  bool admit_who_fits();
  Sequences::Attach attach(Session& session);
  bool ensure_memory();
  void choose_memory();
  void change_memory(KvShape shape);
  KvShape pool() const { return {.cells = shape_.cells}; }
  bool grow(std::uint32_t needed);
  void provide_cells();
  void refused(Error error);
  void out_of_memory(const Error& error);
  CellClaims claims() const;
  static std::uint32_t foreseen(const Session& session);
  bool find_cells();
  void make_room();
  void preempt(Session& session);

  // worker_lane.cpp: long prompts beside running streams
  bool wants_lane(const Session& session) const;
  void move_aside();
  void start_lane(Session& session);
  void give_up_lane(Session& session);
  void share_threads();

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
  std::uint32_t prompt_allowance(std::uint32_t decoding, bool all_threads = false) const;
  std::uint32_t prompt_limit(std::span<const RunnableView> sessions) const;
  static RunnableView view_of(const Session& session);
  void take_turns();
  void find_fillers(std::uint32_t rows);
  void add_fillers();
  bool may_fill() const { return memory_ != nullptr && memory_->takes_fillers(); }
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

  // worker_output.cpp: what a token means, and the end
  void on_token(Session& session, Token token, const float* logits);
  Result<Token> sample(Generation& generation, const float* logits);
  void count_end(StopReason reason);
  void finish(Session& session, StopReason reason, std::optional<Error> error = std::nullopt,
              std::string stop_string = {});
  void end(Session& session, Finish finish) noexcept;

  const TokenTable& tokens_;
  const WorkerOptions options_;
  const KvMaker make_;
  const KvGrowth growth_;
  const std::shared_ptr<CommandBox> box_;
  const std::shared_ptr<Chores> chores_;
  const std::function<Error(const Error&, KvShape)> explain_;
  const std::function<MonoTime()> clock_;
  const std::unique_ptr<CostModel> costs_;
  const std::unique_ptr<Drafter> drafter_;
  const std::unique_ptr<PrefillLane> lane_;

  std::unique_ptr<KvMemory> memory_;  // none after a downsize
  KvShape shape_;                     // of memory_, or of the one to make
  std::uint32_t n_ctx_;               // cells of a pool, now or when it is made
  const std::uint32_t first_n_ctx_, n_batch_;
  bool no_split_ = false;  // there was no memory for a split layout
  // A larger pool wasn't to be had from so many cells on; what is true for a while.
  struct NoGrowth {
    std::uint32_t from;
    MonoTime until;
  };
  std::optional<NoGrowth> no_room_;    // there is too little memory for one that holds so many
  std::optional<NoGrowth> no_growth_;  // one of so many couldn't be made
  // A memory couldn't be made, and a chore finds out what was missing: nobody goes on, and all end when it has.
  struct Refusal {
    Refusal(Error cause, MonoTime end) : plain(cause), error(std::move(cause)), until(end) {}
    const Error plain;
    Error error;
    const MonoTime until;                 // then it is told as it is
    std::atomic<bool> explained = false;  // until then the chore's
  };
  std::shared_ptr<Refusal> refusal_;
  SetThreads threads_;  // all there are
  SetThreads given_;    // what the memory was told to use
  Roster roster_;
  Sequences sequences_;
  // Files of parked KV that have been read, or couldn't be. Until there are more, who waits for one isn't looked up.
  const std::shared_ptr<std::atomic<std::uint64_t>> reads_ended_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::optional<MonoTime> look_again_;  // for those that wait for a file
  bool lane_busy_ = false;              // a result is to come, wanted or not
  struct Brought {
    std::uint32_t tokens = 0;
    KvBytes bytes;
  };
  Brought brought_;  // what it had in cells before
  // Who is to blame if something throws now: one whose turn it is, or all that are in the pass.
  Session* in_hand_ = nullptr;
  bool computing_ = false;
  std::uint64_t next_order_ = 1;
  Batch batch_;
  std::vector<Command> commands_;
  std::vector<RunnableView> views_;
  std::vector<LayoutView> layout_views_;
  std::vector<std::uint64_t> prefilling_;
  BatchLimits limits_;  // of the latest pass
  std::vector<PassItem> items_;
  std::vector<Sequences::FillerRow> fillers_;  // of the latest pass, behind those of its items
  bool measuring_ = false;                     // this pass is to show what running streams take
  std::vector<Guess> drafts_;
  std::vector<GuessList> guess_lists_;
  AnswerWriter writer_;
  struct Ahead {
    Session* session;
    const float* logits;
    std::exception_ptr thrown = {};
  };
  std::vector<Ahead> ahead_;
  SampleTeam team_;
  WorkerStats counters_;
  std::atomic<std::uint32_t> failed_in_row_ = 0;
};

}  // namespace corral::engine
