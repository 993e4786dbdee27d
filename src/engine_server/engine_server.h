// The HTTP face of an engine: one model, reached as an http::Handler. Runs in the engine's own process, behind a socket
// that only the router knows, or in any program that has an InferenceEngine.
//
//   POST chat/completions, chat/completions/input_tokens, completions, completion and infill (llama-server's own
//   shape), embeddings, rerank (reranking, reranker), tokenize, detokenize, apply-template
//
//   GET and POST lora-adapters; GET health, models, props, slots, stats, metrics
//
// Each with and without /v1.
//
// Handlers run on the loop of their connection; parsing, rendering, tokenising and starting generations go to the pool,
// those of large requests to threads of their own (preparation.h).
// Safe on several loops at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/offload.h"
#include "async/timer.h"
#include "engine/service/inference_engine.h"
#include "engine_server/answer.h"
#include "engine_server/preparation.h"
#include "http/handler.h"

namespace corral::engine_server {

struct EngineServerOptions {
  std::string model_name;                      // named in answers to requests that name none
  std::string fingerprint = "corral";          // "system_fingerprint" of answers
  std::string chat_template = {};              // instead of the model's; empty: that
  std::chrono::milliseconds ping_after{1000};  // of silence in a stream whose request doesn't say
  std::uint64_t max_body_bytes = 256ull << 20;
  // Bodies above this are parsed and tokenised on the pool, which takes longer than a loop's other work may wait.
  // What makes prompts, grammars or many texts runs there always.
  std::uint64_t offload_bytes = 1024;
  std::uint64_t heavy_bytes = 64 * 1024;  // larger bodies keep away from the threads of small ones
  PreparationLimits preparation = {};
  std::uint32_t max_answers = 1024 + 16;  // under way at a time, all workers'; shared between clients
  RequestDone request_done;               // called on the connection's loop, for every finished inference request
  // Called there once the text of a request was worked up and the model's turn comes.
  std::function<void(const RequestId&)> prepared = [](const RequestId&) {};
};

class EngineServer final : public http::Handler {
 public:
  // All must outlive the server and its answers.
  EngineServer(engine::InferenceEngine& service, async::Timers& timers, async::ThreadPool& pool,
               EngineServerOptions options);
  ~EngineServer() override;

  async::Task<http::Response> handle(http::Request request) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::engine_server
