// InferenceEngine: one loaded model, N engine workers, any number of sessions that are decoded together. LlamaService
// owns the current engine; a program with a single model can use an engine alone.
//
//   auto engine = InferenceEngine::load({.path = "model.gguf"});
//   auto session = (*engine)->create_session();
//   (*engine)->append_input(*session, "Once upon a time");
//   auto stream = (*engine)->generate_stream(*session, {.max_new_tokens = 64});
//   while (auto chunk = stream->next()) std::fputs(chunk->text.c_str(), stdout);
//
// Workers. Each is one libllama context with a thread of its own; the weights are shared. Sessions are assigned in turn
// (5 sessions on 2 workers: {1,3,5} and {2,4}) and never move. A worker packs all its sessions into one forward pass
// per step: every running session's next token, then pieces of waiting prompts.
//
// Turns. A session's history is everything appended plus every token its streams reported. The last sampled token has
// not been decoded when a generation ends: it is the first pending token of the next turn, so no token is lost. Tokens
// that are appended while a generation runs follow its tokens.
//
// Threads. Every method may be called on every thread; only those that say so wait for a forward pass. Tokenizing runs
// on the caller's thread. Handles may outlive the engine; they then end with `shutdown`.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/kv/media_span.h"
#include "engine/media/projector.h"
#include "engine/pooled/pooled.h"
#include "engine/session/stream.h"
#include "engine/values/errors.h"
#include "engine/values/options.h"
#include "engine/values/session_view.h"
#include "engine/values/stats.h"
#include "engine/values/types.h"

struct llama_model;
struct llama_vocab;

namespace corral::engine {

// Source of session ids: the next id.
using SessionIds = std::atomic<std::uint64_t>;

class InferenceEngine {
 public:
  // Called with 0..1 while the weights load, on the loading thread; false stops the load and frees its memory.
  using Progress = std::function<bool(float)>;

  // Loads (on the calling thread) and starts the workers. Calls load_backends() first.
  // Errors: file_not_found, load_failed, load_cancelled, out_of_memory, never_fits, invalid_argument,
  // invalid_worker_count, version_mismatch, unsupported. Engines with the same `ids` never give two sessions the same
  // id.
  static Result<std::unique_ptr<InferenceEngine>> load(EngineLoadOptions options, Progress progress = {},
                                                       std::shared_ptr<SessionIds> ids = {});
  // An engine that only checks requests: it has the vocabulary and no weights. A valid request ends with no_weights, an
  // invalid one with its own error. Its context is as large as a load with these options may have. Errors: those of
  // load().
  static Result<std::unique_ptr<InferenceEngine>> load_without_weights(EngineLoadOptions options);
  // Checks the options without a load: ranges, and whether the file exists.
  static Result<> check(const EngineLoadOptions& options);

  // shutdown(), then frees the memory.
  ~InferenceEngine();
  InferenceEngine(const InferenceEngine&) = delete;
  InferenceEngine& operator=(const InferenceEngine&) = delete;

  // Refuses new work (worker_shutdown), and waits until all running and queued work has ended, or until `deadline`.
  // True if all has ended.
  bool drain(MonoTime deadline);
  // Ends every stream with `shutdown`, every embedding with worker_shutdown, and waits for the workers to stop. Calls
  // that need no worker (facts, tokenize, stats) still work.
  void shutdown();

  const ModelFacts& facts() const;
  // The default sampling options of a generation: SamplingOptions{} with the values of the model's file
  // (general.sampling.*).
  const SamplingOptions& default_sampling() const;
  // For chat templates and grammars (llama-common). Valid as long as the engine.
  const llama_model* model() const;
  const llama_vocab* vocab() const;

  // add_special: adds BOS/EOS if the vocabulary specifies them. parse_special: "<|im_end|>" in the text is the token.
  // Errors: tokenize_failed.
  Result<std::vector<Token>> tokenize(std::string_view text, bool add_special, bool parse_special) const;
  // Builds a grammar that several generations can share (GrammarOptions::shared); takes milliseconds. Errors:
  // invalid_argument with `grammar` (line, column and rule) or `grammar_triggers`.
  Result<std::shared_ptr<const SharedGrammar>> prepare_grammar(const GrammarOptions& options) const;
  // The text of a token list as bytes, possibly with incomplete characters. render_special: control tokens appear.
  std::string detokenize(std::span<const Token> tokens, bool render_special = false) const;
  // One token's bytes; empty for a control token unless render_special.
  std::string piece(Token token, bool render_special = false) const;
  bool is_end_of_generation(Token token) const;
  // All of them, in order of id; valid as long as the engine.
  std::span<const Token> end_tokens() const;

  // Errors: unsupported (not a generative model), worker_shutdown.
  Result<SessionId> create_session(SessionOptions options = {});
  // A session with these tokens, on the worker that has computed most of them, unless that worker is much busier than
  // another. `media`: pictures and sounds in them, in order; behind the last one there must be a token. Errors: those
  // of both.
  Result<SessionId> create_session(std::span<const Token> tokens, SessionOptions options = {},
                                   std::vector<MediaSpan> media = {});
  // Decodes a picture or sound: what a prompt has for it (MediaPart). Takes milliseconds and more. Errors: those of
  // Projector::read; unsupported, if the model takes text only; no_weights.
  Result<std::vector<MediaPart>> read_media(MediaBytes file) const;
  // The first text of a session gets BOS if the vocabulary specifies it; special tokens in it are text unless
  // parse_special. An empty text or list is fine and does nothing. Errors: session_not_found, tokenize_failed,
  // context_full, invalid_argument (a token outside the vocabulary).
  Result<> append_input(SessionId session, std::string_view text, bool parse_special = false);
  Result<> append_input(SessionId session, std::span<const Token> tokens);
  // Errors: session_not_found, session_busy, queue_full, invalid_argument. The stream reports everything later.
  Result<StreamHandle> generate_stream(SessionId session, GenerateOptions options = {});
  // Whether a generation with these options could begin. Errors: invalid_argument.
  Result<> check(const GenerateOptions& options) const;
  bool has_weights() const;  // false: see load_without_weights()
  // Ends the running generation, if there is one, with `cancelled`; the session lives on. Errors: session_not_found.
  Result<> cancel_generate(SessionId session);
  // Ends the session; its stream ends with `session_ended`. Errors: session_not_found.
  Result<> end_session(SessionId session);
  // Sets the scale of each adapter for new sessions that don't set their own.
  //
  // Errors: invalid_argument.
  Result<> set_adapter_scales(const AdapterScales& scales);
  AdapterScales adapter_scales() const;
  // The worker a session is pinned to. Errors: session_not_found.
  Result<std::uint32_t> worker_of(SessionId session) const;
  bool has_session(SessionId session) const;
  // What each session is doing, by id. The workers report between two passes. `done` is called once, on a worker's
  // thread (on this one if no worker runs), and must not block. The other overload waits for the list: at most one
  // pass.
  void sessions(std::move_only_function<void(std::vector<SessionView>)> done) const;
  std::vector<SessionView> sessions() const;

  // One vector per input, of length 1 if normalize. Inputs are token lists (tokenize with add_special). Clients take
  // turns, however many requests and inputs they have, and no client can fill the queue alone. Errors: unsupported (not
  // an embedding model), input_too_long (one of them, or 2 million tokens in all), invalid_argument (none, an empty
  // one, bad token), queue_full (EngineLoadOptions::max_queue requests wait, or some millions of tokens, or the
  // client's share of either), worker_shutdown.
  Result<PooledHandle> embed(std::vector<std::vector<Token>> inputs, PooledTerms terms = {});
  // One relevance score per document, as the model gives it (no sigmoid). Errors: as embed, tokenize_failed.
  Result<PooledHandle> rerank(std::string_view query, std::span<const std::string> documents, PooledTerms terms = {});

  // Compute threads of each worker from its next step on.
  void set_threads(std::int32_t n_threads, std::int32_t n_threads_batch);

  // Frees KV cells and compute buffers, unless a generation runs. Sessions are parked (EngineLoadOptions::park_bytes)
  // and the next generation restores them. Waits for the running step.
  DownsizeReport downsize();

  Stats stats() const;

 private:
  class Impl;
  explicit InferenceEngine(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<InferenceEngine>> load_all(EngineLoadOptions options, Progress progress,
                                                           std::shared_ptr<SessionIds> ids);
  // Appends the tokens; if they don't fit, the session ends.
  Result<SessionId> filled(SessionId session, std::span<const Token> tokens, std::vector<MediaSpan> media);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::engine
