#include "protocol/answers/answer_parts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace corral::protocol {
namespace {

void write_rate(json::Writer& out, const char* per_token, const char* per_second, double ms, std::uint32_t count) {
  out.field(per_token, count > 0 ? ms / count : 0.0).field(per_second, ms > 0 ? 1000.0 * count / ms : 0.0);
}

// The names of probabilities in the two shapes with lists of objects.
struct Words {
  const char* value;
  const char* top;
  bool as_probability;
};
constexpr Words kLogarithms{"logprob", "top_logprobs", false};
constexpr Words kProbabilities{"prob", "top_probs", true};

void write_token(json::Writer& out, const TopLogprob& token, const Words& words) {
  out.field("id", token.id).field("token", token.token).key("bytes").begin_array();
  for (const char c : token.token) out.value(static_cast<unsigned>(static_cast<unsigned char>(c)));
  out.end_array().key(words.value).value(words.as_probability ? std::exp(token.logprob) : token.logprob);
}

void write_list(json::Writer& out, std::span<const TokenLogprob> tokens, const Words& words) {
  out.begin_array();
  for (const auto& token : tokens) {
    out.begin_object();
    write_token(out, token, words);
    out.key(words.top).begin_array();
    for (const auto& top : token.top) {
      out.begin_object();
      write_token(out, top, words);
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array();
}

const Words& words_of(LogprobShape shape) {
  return shape == LogprobShape::probabilities ? kProbabilities : kLogarithms;
}

// The legacy shape has no member for bytes: part of a character is spelled "bytes:\xe2\x82", as in OpenAI's API.
std::string spelled(std::string_view token) {
  if (json::is_utf8(token)) return std::string(token);
  std::string text = "bytes:";
  for (const char c : token) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

// The most likely tokens and the chosen one, each name once.
void write_top(json::Writer& out, const TokenLogprob& token) {
  std::vector<std::string> names;
  const auto add = [&](const TopLogprob& one) {
    auto name = spelled(one.token);
    if (std::ranges::find(names, name) != names.end()) return;
    out.any_key(name).value(one.logprob);
    names.push_back(std::move(name));
  };
  out.begin_object();
  for (const auto& top : token.top) add(top);
  add(token);
  out.end_object();
}

void write_legacy(json::Writer& out, std::span<const TokenLogprob> tokens) {
  out.begin_object().key("tokens").begin_array();
  for (const auto& token : tokens) out.value(spelled(token.token));
  out.end_array().key("token_logprobs").begin_array();
  for (const auto& token : tokens) out.value(token.logprob);
  out.end_array().key("top_logprobs");
  if (std::ranges::all_of(tokens, [](const TokenLogprob& token) { return token.top.empty(); })) {
    out.null();
  } else {
    out.begin_array();
    for (const auto& token : tokens) write_top(out, token);
    out.end_array();
  }
  out.key("text_offset").begin_array();
  for (const auto& token : tokens) out.value(token.text_offset);
  out.end_array().end_object();
}

}  // namespace

void write_head(json::Writer& out, const AnswerHead& head, std::string_view object) {
  out.field("id", head.id).field("object", object).field("created", head.created).field("model", head.model);
  out.field("system_fingerprint", head.fingerprint);
  if (head.not_stored) out.field("store", false);
}

void write_warnings(json::Writer& out, std::span<const std::string> warnings) {
  if (warnings.empty()) return;
  out.key("warnings").begin_array();
  for (const auto& warning : warnings) out.value(warning);
  out.end_array();
}

void write_usage(json::Writer& out, const Usage& usage) {
  out.begin_object().field("completion_tokens", usage.completion_tokens).field("prompt_tokens", usage.prompt_tokens);
  out.field("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  out.key("prompt_tokens_details").begin_object().field("cached_tokens", usage.cached_tokens).end_object();
  out.end_object();
}

void write_timings(json::Writer& out, const Timings& timings) {
  out.begin_object().field("cache_n", timings.cache_n);
  out.field("prompt_n", timings.prompt_n).field("prompt_ms", timings.prompt_ms);
  write_rate(out, "prompt_per_token_ms", "prompt_per_second", timings.prompt_ms, timings.prompt_n);
  out.field("predicted_n", timings.predicted_n).field("predicted_ms", timings.predicted_ms);
  write_rate(out, "predicted_per_token_ms", "predicted_per_second", timings.predicted_ms, timings.predicted_steps);
  if (timings.draft_n > 0) out.field("draft_n", timings.draft_n).field("draft_n_accepted", timings.draft_n_accepted);
  out.end_object();
}

void write_progress(json::Writer& out, const PromptProgress& progress) {
  out.begin_object().field("total", progress.total).field("cache", progress.cache);
  out.field("processed", progress.processed);
  out.field("time_ms", static_cast<std::int64_t>(progress.time_ms)).end_object();
}

void write_logprobs(json::Writer& out, std::span<const TokenLogprob> tokens, LogprobShape shape) {
  if (shape == LogprobShape::legacy) return write_legacy(out, tokens);
  out.begin_object().key("content");
  write_list(out, tokens, words_of(shape));
  out.end_object();
}

void write_probabilities(json::Writer& out, std::span<const TokenLogprob> tokens, LogprobShape shape) {
  write_list(out, tokens, words_of(shape));
}

}  // namespace corral::protocol
