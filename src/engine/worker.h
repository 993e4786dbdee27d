// A generating worker: one context, one thread, all sessions pinned to it. Iteration-level batching: each round takes
// the commands that came in, gives places to sessions that wait, and computes one pass for all that run.
//
// The thread owns everything below "decode thread"; the others talk to it through the command box. start() and stop()
// once each, in this order.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/commands.h"
#include "engine/context.h"
#include "engine/scheduler.h"
#include "engine/sequences.h"
#include "engine/session.h"
#include "engine/stats.h"

namespace corral::engine {

struct WorkerOptions {
  std::uint32_t max_sequences = 16;
  std::uint32_t prefix_cache_tokens = 0;
  double target_step_ms = 100;
};

class Worker {
 public:
  // `box` is the one whose abort flag the context polls.
  Worker(std::shared_ptr<const Model> model, std::unique_ptr<Context> context, std::shared_ptr<CommandBox> box,
         WorkerOptions options);
  ~Worker();

  void start();
  // Ends all streams with `shutdown` and joins the thread.
  void stop();

  CommandBox& box() { return *box_; }
  const std::shared_ptr<CommandBox>& shared_box() const { return box_; }
  WorkerStats stats() const;
  // Generations that are started and not ended.
  InFlight& in_flight() { return in_flight_; }

 private:
  void run();
  void publish_stats();

  // worker.cpp: commands
  void apply(CreateSession&& command);
  void apply(AppendTokens&& command);
  void apply(StartGeneration&& command);
  void apply(CancelGeneration&& command);
  void apply(EndSession&& command);
  void apply(SetThreads&& command);
  void apply(DescribeSessions&& command);  // worker_view.cpp
  Session* find(SessionId id);

  // worker_round.cpp: places, passes
  void resume_paused();
  void admit();
  // A session's part of a pass.
  struct PassItem {
    Session* session = nullptr;
    std::uint32_t tokens = 0;  // so many of its pending ones
    std::int32_t row = -1;     // batch index of the last pending one, whose logits are wanted; -1: not in this pass
  };
  bool compute_pass();
  void decode(std::span<PassItem> items);
  std::uint32_t fill_batch(std::span<PassItem> items);
  void take_results(std::span<const PassItem> items);
  void decode_apart(std::span<PassItem> items);
  void make_room();
  void preempt(Session& session);

  // worker_output.cpp: tokens to streams
  void on_token(Session& session, Token token, const float* logits);
  void finish(Session& session, StopReason reason, std::optional<Error> error = std::nullopt,
              std::string stop_string = {});
  void release(Session& session, const TextCutter::Cut& cut);
  void leave_queue(Session& session);
  TokenLogprob logprob(std::uint32_t n_probs, Token token, const float* logits);
  void pause(Session& session);

  // Constant after construction.
  const std::shared_ptr<const Model> model_;
  const WorkerOptions options_;
  const std::shared_ptr<CommandBox> box_;
  InFlight in_flight_;
  const std::unique_ptr<Context> context_;

  // Decode thread.
  Sequences sequences_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::vector<Session*> active_;
  std::deque<Session*> waiting_;
  std::vector<Session*> paused_;
  bool starved_ = false;  // KV cells ran out: nobody new until somebody ends
  std::uint64_t next_order_ = 1;
  std::uint64_t pass_ = 0;
  PrefillPace pace_;
  Batch batch_;
  std::vector<Command> commands_;
  std::vector<RunnableView> views_;
  std::vector<std::uint64_t> prefilling_;
  std::vector<PassItem> items_;
  std::string piece_;
  std::vector<Token> by_logit_;
  WorkerStats counters_;

  mutable std::mutex stats_mutex_;  // guards published_
  WorkerStats published_;

  std::thread thread_;
};

}  // namespace corral::engine
