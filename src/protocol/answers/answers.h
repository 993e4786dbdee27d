// Writes the bodies of whole inference answers directly as text; protocol/answers/chunks.h writes streamed ones. Pure
// functions and plain values; safe on every thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral::protocol {

// Members that are the same in every piece of one answer.
struct AnswerHead {
  std::string id = {};                     // "chatcmpl-...", "cmpl-..."
  std::string model = {};                  // the requested name
  std::int64_t created = 0;                // seconds since 1970
  std::string fingerprint = {};            // of the server's software
  bool not_stored = false;                 // the request asked for storage: the answer says "store": false
  std::vector<std::string> warnings = {};  // parts of the request without effect; written at the end of an answer
};

struct Usage {
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;  // cached tokens of the prompt
  std::uint32_t completion_tokens = 0;
};

// As llama-server reports them; milliseconds.
struct Timings {
  std::uint32_t cache_n = 0;   // prompt tokens that were cached
  std::uint32_t prompt_n = 0;  // prompt tokens that were computed
  double prompt_ms = 0;
  std::uint32_t predicted_n = 0;
  // Time from the first token of an answer to its last, and the number of tokens in it: all but the first, which
  // prefill computes. Rates use these numbers, as in llama-server.
  double predicted_ms = 0;
  std::uint32_t predicted_steps = 0;
  std::uint32_t draft_n = 0;           // draft tokens; 0: the answer has no such members
  std::uint32_t draft_n_accepted = 0;  // accepted draft tokens
};

// Progress of a prompt, in llama-server's form.
struct PromptProgress {
  std::uint32_t total = 0;      // its tokens
  std::uint32_t cache = 0;      // cached ones
  std::uint32_t processed = 0;  // processed by now, including `cache`
  double time_ms = 0;           // since computing began
};

struct TopLogprob {
  std::int32_t id = 0;
  std::string token = {};  // its bytes, maybe part of a character
  float logprob = 0;
};
struct TokenLogprob : TopLogprob {
  std::vector<TopLogprob> top = {};
  std::uint32_t text_offset = 0;  // characters (code points) of the answer before it
};
// content: {"content":[{"token",...,"top_logprobs"}]}, for chats. probabilities: the same with "prob" and "top_probs",
// from 0 to 1, as in llama-server after sampling. legacy: {"tokens","token_logprobs","top_logprobs","text_offset"}, for
// completions.
enum class LogprobShape { content, probabilities, legacy };

struct ToolCall {
  std::string id = {}, name = {}, arguments = {};
};

struct ChatMessage {
  std::string content = {};
  std::string reasoning_content = {};
  std::vector<ToolCall> tool_calls = {};
};

// One step of a streamed chat answer; empty parts are omitted.
struct ChatDelta {
  std::string content = {};
  std::string reasoning_content = {};
  std::optional<std::uint32_t> tool_index = {};  // set: `tool` is (a piece of) that tool call
  ToolCall tool = {};
};

// finish_reason: "stop", "length", "tool_calls".
struct ChatAnswer {
  ChatMessage message = {};
  std::string_view finish_reason = {};
  std::string stopping_word = {};  // the request's stop string that ended it; written if not empty
  std::vector<TokenLogprob> logprobs = {};
  bool has_logprobs = false;
  LogprobShape logprob_shape = LogprobShape::content;
};
struct TextAnswer {
  std::string text = {};
  std::string_view finish_reason = {};
  std::vector<TokenLogprob> logprobs = {};
  bool has_logprobs = false;
  LogprobShape logprob_shape = LogprobShape::legacy;
  std::vector<std::int32_t> tokens = {};  // written if not empty
};

// `verbose`: JSON text for "__verbose", or empty.
std::string chat_completion(const AnswerHead& head, std::span<const ChatAnswer> answers, const Usage& usage,
                            const Timings& timings, std::string_view verbose = {});
std::string text_completion(const AnswerHead& head, std::span<const TextAnswer> answers, const Usage& usage,
                            const Timings& timings);

std::string embeddings(std::string_view model, std::span<const std::vector<float>> vectors, bool base64,
                       std::uint32_t tokens);

// In llama-server's own shape: a list of {"index", "embedding": [[...]]}. A text may have several vectors of `size`
// numbers.
std::string native_embeddings(std::span<const std::vector<float>> texts, std::size_t size, bool base64);

struct RankedDocument {
  std::uint32_t index = 0;
  float score = 0;
};
// `ranked` in the order of the output; `documents` is empty unless the answer returns their texts.
std::string reranking(std::string_view model, std::span<const RankedDocument> ranked,
                      std::span<const std::string> documents, std::uint32_t tokens);

// The same in the form of text-embeddings-inference: a list of {"index", "score"[, "text"]}.
std::string ranked_list(std::span<const RankedDocument> ranked, std::span<const std::string> documents);

// GET models of an engine that has one model.
struct ModelEntry {
  std::string id;
  std::int64_t created = 0;
  std::string owned_by;
  std::string meta;  // JSON text for "meta", or empty
};
std::string model_entry(const ModelEntry& entry);
std::string model_list(std::span<const ModelEntry> entries);

std::string tokens_answer(std::span<const std::int32_t> tokens);

std::string base64(std::string_view bytes);

}  // namespace corral::protocol
