// HTTP interface of an engine with one model, as an http::Handler. Runs in the engine's own process, behind a socket
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
// those of large requests to threads of their own (preparation.h). Safe on several loops at once.
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
#include "engine_server/preparation/preparation.h"
#include "http/handler.h"

namespace corral::engine_server {

struct EngineServerOptions {
  std::string model_name;                      // named in answers to requests that name none
  std::string fingerprint = "corral";          // "system_fingerprint" of answers
  std::string chat_template = {};              // replaces the model's template; empty: the model's
  std::chrono::milliseconds ping_after{1000};  // without an event in a stream; default for requests
  std::uint64_t max_body_bytes = 256ull << 20;
  // Larger bodies are parsed and tokenized on the pool, which takes too long for a loop. Work that builds prompts or
  // grammars, or has many texts, always runs there.
  std::uint64_t offload_bytes = 1024;
  std::uint64_t heavy_bytes = 64 * 1024;  // larger bodies use separate threads
  PreparationLimits preparation = {};
  std::uint32_t max_answers = 1024 + 16;  // running at a time, over all workers; with a quota per client
  // Of pictures and sounds of all running and waiting requests, as the projector takes them, and of their embeddings;
  // with a quota per client. One request may exceed it.
  std::uint64_t max_media_bytes = 2ull << 30;
  RequestDone request_done;  // called on the connection's loop, for every finished inference request
  // Called there when a request is prepared and its generation starts.
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
