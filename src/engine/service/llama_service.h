// LlamaService: the engine's public face. Owns the current model, replaces it while its sessions continue, and passes
// sessions to it. An object that the program creates; there may be several.
//
//   auto service = *LlamaService::init();
//   service->load_model_with_workers("model.gguf", {.n_ctx = 4096}, 1);
//   auto session = *service->create_session();
//   service->append_input(session, "Once upon a time");
//   auto stream = *service->generate_stream(session, {.max_new_tokens = 64});
//   while (auto chunk = stream.next()) std::fputs(chunk->text.c_str(), stdout);
//
// One model at a time is current. A handle on it (current()) stays valid until it is dropped, whatever the service does
// meanwhile: after a reload its generations end, at the latest with `shutdown`, and new ones are refused with
// worker_shutdown, but its facts, tokenizer and counters still work, and the last handle frees its memory.
//
// Sessions belong to the model they were made with. Their ids count from 1 and are never reused, not by later models
// either. A session is found by its id as long as its model is current or drains.
//
// Threads. Every method may be called on every thread. load_model_with_workers, reload, unload and inference wait until
// they are done (the first three run one after the other). Everything else returns at once, also while a model loads or
// drains. Streams may outlive the service; they then end with `shutdown`.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/service/inference_engine.h"

namespace corral::engine {

struct ServiceOptions {
  std::string backend_directory = {};  // as load_backends()
  Millis drain{30'000};                // default of ReloadOptions::drain
};

enum class ReloadOrder {
  load_first,    // both models are in memory for a while, and one of the two is always there
  unload_first,  // for models that don't fit side by side; a failed load brings the former model back, without sessions
};

struct ReloadOptions {
  std::optional<EngineLoadOptions> model = std::nullopt;  // none: the current one again
  ReloadOrder order = ReloadOrder::load_first;
  // How long generations of the former model may continue before they end with `shutdown`. None: ServiceOptions::drain.
  std::optional<Millis> drain = std::nullopt;
};

struct InferenceOptions {
  SessionOptions session = {};
  GenerateOptions generate = {};
  bool parse_special = false;  // "<|im_end|>" in the prompt is the token
};

// A whole answer. It may have ended early: see finish.reason.
struct Inference {
  std::string text;
  std::vector<Token> tokens;
  std::vector<TokenLogprob> logprobs;  // one per token where n_probs > 0
  Finish finish;                       // with the usage
};

class LlamaService {
 public:
  using Progress = InferenceEngine::Progress;

  // A service without a model. Errors: those of load_backends().
  static Result<std::unique_ptr<LlamaService>> init(ServiceOptions options = {});
  // Ends every stream with `shutdown`, also those of former models.
  ~LlamaService();
  LlamaService(const LlamaService&) = delete;
  LlamaService& operator=(const LlamaService&) = delete;

  // Loads `path` with `params` (whose path and workers are ignored). Replaces a loaded model as reload() does by
  // default. Errors: those of InferenceEngine::load.
  Result<> load_model_with_workers(std::string path, EngineLoadOptions params, std::uint32_t num_workers,
                                   Progress progress = {});
  // Replaces the current model and waits until the former one has drained. If the load fails, the former model stays,
  // or with unload_first comes back. unload_first also waits, at most for the drain time, for other handles on the
  // former model: the last one frees the memory. Errors: model_not_loaded (nothing to load again), those of load.
  Result<> reload(ReloadOptions options = {}, Progress progress = {});
  // Drains the current model (ServiceOptions::drain) and releases it. Errors: model_not_loaded.
  Result<> unload();

  // The model that is loaded. Errors: model_not_loaded.
  Result<std::shared_ptr<InferenceEngine>> current() const;

  // As the methods of InferenceEngine; new sessions use the current model. Errors: model_not_loaded (to create),
  // session_not_found (never made, ended, or its model is gone), and those of InferenceEngine.
  Result<SessionId> create_session(SessionOptions options = {});
  Result<> append_input(SessionId session, std::string_view text, bool parse_special = false);
  Result<> append_input(SessionId session, std::span<const Token> tokens);
  Result<StreamHandle> generate_stream(SessionId session, GenerateOptions options = {});
  Result<> cancel_generate(SessionId session);
  Result<> end_session(SessionId session);

  // One prompt, one answer, in a session of its own that ends with the answer. If a reload intervenes, it starts again
  // with the new model. Errors: those of the three steps.
  Result<Inference> inference(std::string_view prompt, InferenceOptions options = {});
  // The session ends when the terminal item is taken or the handle dropped.
  Result<StreamHandle> inference_stream(std::string_view prompt, InferenceOptions options = {});

  // Of the current model; empty if there is none.
  Stats stats() const;

 private:
  struct Impl;
  explicit LlamaService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::engine
