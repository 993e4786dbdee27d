// Takes the next tokens out of a pass that was computed, and does what each of them means to its session: it is told,
// it ends the answer, or its reader has too much to read. One thread; where choosing takes long several help.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "engine/kv/token_table.h"
#include "engine/sample/sample_team.h"
#include "engine/values/stats.h"
#include "engine/worker/answer_writer.h"
#include "engine/worker/endings.h"
#include "engine/worker/in_hand.h"
#include "engine/worker/memory_keeper.h"
#include "engine/worker/pass.h"
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"
#include "engine/worker/worker_options.h"

namespace corral::engine {

class TokenTaker {
 public:
  struct Parts {
    const TokenTable& tokens;
    std::function<MonoTime()> clock;
    Roster& roster;
    Sequences& sequences;
    MemoryKeeper& keeper;
    AnswerWriter& writer;
    Endings& endings;
    InHand& hand;
    WorkerStats& counters;
  };
  TokenTaker(Parts parts, const WorkerOptions& options);

  // Where choosing takes long, several sessions choose at the same time. What one has chosen is kept with its
  // generation: should the worker start afresh before it is told, the same place isn't sampled twice.
  void choose_ahead(const Pass& pass);
  // The token after the last pending one; and as long as the guess behind it was that token, the one after it as well.
  void take(const Pass& pass, const PassItem& item);

 private:
  Result<Token> choose(Generation& generation, const float* logits);
  // True: what was computed behind it is as it should be.
  bool on_token(Session& session, Token token, const float* logits);
  bool shift(Session& session);

  const TokenTable& tokens_;
  const std::function<MonoTime()> clock_;
  Roster& roster_;
  Sequences& sequences_;
  MemoryKeeper& keeper_;
  AnswerWriter& writer_;
  Endings& endings_;
  InHand& hand_;
  WorkerStats& counters_;

  struct Ahead {
    Session* session;
    const float* logits;
    std::exception_ptr thrown = {};
  };
  std::vector<Ahead> ahead_;
  SampleTeam team_;
};

}  // namespace corral::engine
