// From a checked request to a running generation of the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/inference_engine.h"
#include "engine_server/chat_template.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// A prompt and everything the engine needs to continue it. Made on any thread.
struct Prepared {
  std::vector<engine::Token> prompt;
  engine::GenerateOptions options;
  std::uint32_t shown_probs = 0;             // alternatives listed per token in the answer
  std::shared_ptr<const ParserSpec> parser;  // for chats
};

// Errors: context_length_exceeded, bad_value, no_media, render_failed, and those of tokenising.
Result<Prepared> prepare_chat(const engine::InferenceEngine& service, const ChatTemplate& chat_template,
                              const protocol::ChatRequest& request);
// One per prompt.
Result<std::vector<Prepared>> prepare_completion(const engine::InferenceEngine& service,
                                                 const protocol::CompletionRequest& request);

// Tokens of a text (with BOS and the like) or the given tokens, checked. `param` names the field in errors.
Result<std::vector<engine::Token>> tokens_of(const engine::InferenceEngine& service, const protocol::Input& input,
                                             const std::string& param);

// A session with one generation under way; both end with their owner. Move-only.
class Generation {
 public:
  // Takes prompt and options out of `prepared`. Errors: those of the engine (queue_full, ...).
  static Result<Generation> start(engine::InferenceEngine& service, Prepared& prepared);
  // A stream without a session to end.
  explicit Generation(engine::StreamHandle stream) : stream_(std::move(stream)) {}
  ~Generation();
  Generation(Generation&& other) noexcept;
  Generation& operator=(Generation&& other) noexcept;

  engine::StreamHandle& stream() { return stream_; }

 private:
  Generation(engine::InferenceEngine& service, engine::SessionId session) : service_(&service), session_(session) {}

  engine::InferenceEngine* service_ = nullptr;
  engine::SessionId session_;
  engine::StreamHandle stream_;
};

}  // namespace corral::engine_server
