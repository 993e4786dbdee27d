// From a checked request to a running generation of the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/service/inference_engine.h"
#include "engine/threads/client_quota.h"
#include "engine_server/preparation/preparation.h"
#include "engine_server/preparation/prompt_tokens.h"
#include "engine_server/settings.h"
#include "engine_server/templates/chat_template.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// Facts of a request for answers in llama-server's format.
struct NativeFacts {
  std::string prompt;                            // as the model sees it
  std::shared_ptr<const SettingsText> settings;  // same for all prompts of a request
  std::vector<std::string> response_fields = {};
  bool with_timings = false;  // in each event
};

// A prompt and everything that the engine needs to continue it. Made on any thread.
struct Prepared {
  std::vector<engine::Token> prompt;
  std::vector<engine::MediaSpan> media = {};  // pictures and sounds in it
  engine::SessionOptions session;
  engine::GenerateOptions options;
  std::string echo;                           // text before the answer
  std::shared_ptr<const ParserSpec> parser;   // for chats
  Warnings warnings;                          // parts of its schemas that aren't enforced
  std::shared_ptr<const NativeFacts> native;  // for answers in that format, or for chats that include it
};

// Takes pictures and sounds out of the request. Errors: context_length_exceeded, bad_value, no_media, render_failed,
// those of grammars and of tokenising; remote_cancelled once `stop` is wanted.
Result<Prepared> prepare_chat(const PromptTokens& tokens, const ChatTemplate& chat_template,
                              protocol::ChatRequest& request, const CancelToken& stop);
// One per prompt.
Result<std::vector<Prepared>> prepare_completion(const PromptTokens& tokens, const protocol::CompletionRequest& request,
                                                 const CancelToken& stop);
// Its preparation takes more than a few milliseconds.
bool takes_long(const protocol::ChatRequest& request);
bool takes_long(const protocol::CompletionRequest& request);
bool takes_long(const protocol::RerankRequest& request);

// A session with one running generation; both end with their owner. Move-only. May outlive the service.
class Generation {
 public:
  // Errors: those of the engine (queue_full, ...).
  static Result<Generation> start(const std::shared_ptr<engine::InferenceEngine>& service, const Prepared& prompt,
                                  engine::GenerateOptions options);
  // A stream without a session to end.
  explicit Generation(engine::StreamHandle stream) : stream_(std::move(stream)) {}
  ~Generation();
  Generation(Generation&&) noexcept = default;
  Generation& operator=(Generation&& other) noexcept;

  engine::StreamHandle& stream() { return stream_; }

 private:
  Generation(const std::shared_ptr<engine::InferenceEngine>& service, engine::SessionId session)
      : service_(service), session_(session) {}

  std::weak_ptr<engine::InferenceEngine> service_;
  engine::SessionId session_;
  engine::StreamHandle stream_;
};

// One running answer to a request. Move-only.
struct Choice {
  Generation generation;
  bool counts_prompt = true;  // for sums over all answers: false for the second and later ones to the same prompt
  std::string echo = {};
  std::shared_ptr<const ParserSpec> parser = {};
  std::shared_ptr<const NativeFacts> native = {};
  std::optional<std::uint32_t> seed = {};  // its own
  engine::ClientQuota::Held share = {};    // of its client
};

// Starts n answers to each prompt, in the order of the prompts; a given seed is increased for each. Builds grammars and
// samplers, so not for loops. If one can't be started, none is. Errors: those of the engine (queue_full, ...).
Result<std::vector<Choice>> start_choices(const std::shared_ptr<engine::InferenceEngine>& service,
                                          std::vector<Prepared> prompts, std::uint32_t n, const CancelToken& stop);

}  // namespace corral::engine_server
