// The bodies of inference requests as plain structs, checked and filled in one pass. Absent fields stay empty here:
// defaults belong to the engine. Pure functions; safe on every thread.
//
// JSON for chat templates (messages, tools, schemas) stays text. Errors of every parser: those of check() in
// protocol/fields.h, and errc::unsupported_value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/sampler_kind.h"

namespace corral::protocol {

// Given sampling options; names as in the body.
struct Sampling {
  std::optional<float> temperature, top_p, min_p, typical_p, top_n_sigma, xtc_probability, xtc_threshold;
  std::optional<float> dynatemp_range, dynatemp_exponent, repeat_penalty, frequency_penalty, presence_penalty;
  std::optional<float> dry_multiplier, dry_base, adaptive_target, adaptive_decay, mirostat_tau, mirostat_eta;
  // repeat_last_n and dry_penalty_last_n: -1 is the whole context.
  std::optional<std::int32_t> top_k, repeat_last_n, dry_allowed_length, dry_penalty_last_n, mirostat, min_keep;
  std::optional<std::vector<std::string>> dry_sequence_breakers;
  std::optional<std::vector<SamplerKind>> samplers;  // their order
  std::optional<std::uint32_t> seed;                 // the low 32 bits of the given value; nothing for -1
};

// A text (to be tokenised), a list of tokens, or both alternating.
using InputPart = std::variant<std::string, std::vector<std::int32_t>>;
using Input = std::variant<std::string, std::vector<std::int32_t>, std::vector<InputPart>>;
// Texts of one prompt that has tokens between them.
inline constexpr std::size_t kMaxPromptTexts = 4096;

struct TokenBias {
  std::variant<std::int32_t, std::string> token;  // a number, or a text whose tokens are all affected
  float bias = 0;                                 // -infinity forbids
};

// The start of a lazy grammar; types as in llama-server.
struct Trigger {
  std::uint32_t type = 0;  // 0 a token, 1 a word, 2 a pattern, 3 a pattern of the whole answer so far
  std::string value;
  std::int32_t token = -1;  // for type 0
};

// An adapter of the load by its number, and its scale.
struct Adapter {
  std::uint32_t id = 0;
  float scale = 0;
};

// The schema that an answer must follow.
struct AnswerSchema {
  std::string text = {};  // JSON; empty: none
  std::string path = {};  // the field of the request that has it
  bool strict = false;    // keywords that can't be enforced are errors
};

// Shared fields of chat/completions and completions.
struct GenerationRequest {
  std::string model;  // as requested; empty: not given
  bool stream = false;
  bool include_usage = false;
  bool prompt_usage = false;                // the first event of a stream has the number of prompt tokens
  bool each_token = false;                  // one event for each token, even for a slow reader
  std::optional<std::uint32_t> max_tokens;  // max_completion_tokens, max_tokens or n_predict; none: no limit
  std::vector<std::string> stop;
  Sampling sampling;
  std::vector<TokenBias> logit_bias;
  bool ignore_eos = false;
  bool logprobs = false;             // requested
  std::uint32_t n_probs = 0;         // most likely tokens listed for each token
  bool legacy_logprobs = false;      // requested in the form of completions, with a number in `logprobs`
  bool post_sampling_probs = false;  // probabilities after all sampling options
  std::string grammar;               // GBNF
  bool grammar_lazy = false;         // it applies from the first trigger on
  std::vector<Trigger> grammar_triggers;
  std::vector<std::string> preserved_tokens;  // control tokens that stay in the text
  bool timings_per_token = false;             // in each event of a stream
  bool return_progress = false;               // progress of the prompt, in separate events
  bool verbose = false;                       // of whole chats: the model's prompt, and the settings
  std::optional<Millis> ping_interval;        // sse_ping_interval; 0: no pings
  // the generation ends at the first line break after this time; 0: no limit
  std::uint32_t max_predict_ms = 0;
  // A full context drops n_discard tokens (0: half) after the first n_keep (-1: the prompt).
  bool context_shift = false;
  std::int32_t n_keep = 0;
  std::uint32_t n_discard = 0;
  AnswerSchema json_schema;
  bool return_tokens = false;
  // Other adapters don't apply. Nothing: the server's setting.
  std::optional<std::vector<Adapter>> adapters;
  bool cache_prompt = true;  // false: neither use cached prefixes nor leave one
  std::uint32_t n = 1;       // answers to each prompt; the seed increases by one for each
};
// Maximum number of answers to one prompt, and of one request.
inline constexpr std::uint32_t kMaxAnswers = 32;
inline constexpr std::uint32_t kMaxRequestAnswers = 1024;

enum class ToolChoice { automatic, none, required };

// The part of the assistant's last message that is continued. unsaid: the existing part, and streams repeat it.
enum class Continuation { unsaid, automatic, content, reasoning };

struct ChatRequest : GenerationRequest {
  std::string messages;        // JSON text of the array
  std::size_t text_bytes = 0;  // of the content of messages: every template puts it into its prompt
  bool has_media = false;      // a part other than text
  // JSON text of the array of callable functions (limited by tool_choice); other types of tools are left out; empty:
  // none
  std::string tools;
  std::vector<std::uint32_t> tool_places;  // of each of these in the request's own array
  ToolChoice tool_choice = ToolChoice::automatic;
  std::optional<bool> parallel_tool_calls;
  std::vector<std::pair<std::string, std::string>> template_kwargs;  // name and JSON text
  std::optional<bool> add_generation_prompt;
  Continuation continuation = Continuation::unsaid;
  bool echo = false;   // with a given continuation: streams repeat the continued text
  bool store = false;  // asks for the answer to be stored, which chats can't
  std::optional<bool> enable_thinking;
  std::string reasoning_effort;
  std::string reasoning_format;  // none, auto, deepseek, deepseek-legacy; empty: not given
};

// The texts around a gap to fill.
struct Infill {
  Input prefix, suffix;
  struct Extra {
    std::string filename, text;
  };
  std::vector<Extra> extra = {};  // other pieces of the project
  std::string begun = {};         // the beginning of the gap's text
  // True: use all of it, and add nothing. False: as in llama-server's infill, which cuts text that is far from the gap.
  bool whole = false;
};

struct CompletionRequest : GenerationRequest {
  std::vector<Input> prompts;                // at least one, unless there is `infill`
  std::optional<Infill> infill;              // instead of prompts
  bool echo = false;                         // the answer begins with the prompt
  bool native = false;                       // the answer has llama-server's own shape
  std::vector<std::string> response_fields;  // of native answers: only these members; empty: all
};

struct EmbeddingRequest {
  std::string model;
  std::vector<Input> inputs;  // at least one
  bool base64 = false;
  std::optional<std::uint32_t> dimensions;
  bool truncate = false;  // too long texts are cut; else they are errors
  std::int32_t norm = 2;  // embd_normalize; -1: none, 0: by the largest
};

struct RerankRequest {
  std::string model;
  std::string query;
  std::vector<std::string> documents;  // at least one
  std::optional<std::uint32_t> top_n;
  bool return_documents = false;
  bool raw_scores = true;
  bool as_list = false;  // documents were given as `texts`: the answer is a list, as from text-embeddings-inference
};

struct TokenizeRequest {
  std::string content;
  bool add_special = false;
  bool parse_special = true;
  bool with_pieces = false;
};

struct DetokenizeRequest {
  std::vector<std::int32_t> tokens;
};

Result<ChatRequest> parse_chat_request(const std::string& body);
Result<CompletionRequest> parse_completion_request(const std::string& body);
Result<CompletionRequest> parse_native_request(const std::string& body);  // of POST completion
Result<CompletionRequest> parse_infill_request(const std::string& body);
Result<EmbeddingRequest> parse_embedding_request(const std::string& body);
Result<EmbeddingRequest> parse_native_embedding_request(const std::string& body);
Result<RerankRequest> parse_rerank_request(const std::string& body);
Result<TokenizeRequest> parse_tokenize_request(const std::string& body);
Result<DetokenizeRequest> parse_detokenize_request(const std::string& body);
// Of POST lora-adapters: an array.
Result<std::vector<Adapter>> parse_adapters(const std::string& body);

}  // namespace corral::protocol
