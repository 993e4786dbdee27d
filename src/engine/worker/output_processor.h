// Samples the next tokens of a computed pass and applies each to its session: the token is streamed, ends the
// generation, or pauses it because the reader is slow. One thread; the sampler pool helps with slow samplers.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "engine/cache/kv_memory_manager.h"
#include "engine/cache/sequences.h"
#include "engine/kv/token_table.h"
#include "engine/pass/pass.h"
#include "engine/sample/sampler_pool.h"
#include "engine/session/fault_scope.h"
#include "engine/session/session_table.h"
#include "engine/session/stream_writer.h"
#include "engine/session/worker_options.h"
#include "engine/values/stats.h"
#include "engine/worker/generation_finisher.h"

namespace corral::engine {

class OutputProcessor {
 public:
  struct Parts {
    const TokenTable& tokens;
    std::function<MonoTime()> clock;
    SessionTable& sessions;
    Sequences& sequences;
    KvMemoryManager& kv;
    StreamWriter& writer;
    GenerationFinisher& finisher;
    FaultScope& faults;
    WorkerStats& counters;
  };
  OutputProcessor(Parts parts, const WorkerOptions& options);

  // If sampling is slow, samples for several sessions in parallel. Each result is kept with its generation: if the
  // worker restarts before it is used, the same position is not sampled twice.
  void choose_ahead(const Pass& pass);
  // Samples the token behind the last pending one. As long as the draft token there equals the sampled token, also the
  // next one.
  void take(const Pass& pass, const PassItem& item);

 private:
  Result<Token> choose(Generation& generation, const float* logits);
  // True: rows computed behind the token are still valid.
  bool on_token(Session& session, Token token, const float* logits);
  bool shift(Session& session);

  const TokenTable& tokens_;
  const std::function<MonoTime()> clock_;
  SessionTable& sessions_;
  Sequences& sequences_;
  KvMemoryManager& kv_;
  StreamWriter& writer_;
  GenerationFinisher& finisher_;
  FaultScope& faults_;
  WorkerStats& counters_;

  struct Ahead {
    Session* session;
    const float* logits;
    std::exception_ptr thrown = {};
  };
  std::vector<Ahead> ahead_;
  SamplerPool pool_;
};

}  // namespace corral::engine
