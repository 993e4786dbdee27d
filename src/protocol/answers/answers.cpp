#include "protocol/answers/answers.h"

#include "json/writer.h"
#include "protocol/answers/answer_parts.h"

namespace corral::protocol {
namespace {

void write_message(json::Writer& out, const ChatMessage& message) {
  out.begin_object().field("role", "assistant").key("content");
  message.content.empty() && !message.tool_calls.empty() ? out.null() : out.value(message.content);
  if (!message.reasoning_content.empty()) out.field("reasoning_content", message.reasoning_content);
  if (!message.tool_calls.empty()) {
    out.key("tool_calls").begin_array();
    for (const auto& call : message.tool_calls) {
      out.begin_object().field("id", call.id).field("type", "function").key("function").begin_object();
      out.field("name", call.name).field("arguments", call.arguments).end_object().end_object();
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace

std::string chat_completion(const AnswerHead& head, std::span<const ChatAnswer> answers, const Usage& usage,
                            const Timings& timings, std::string_view verbose) {
  std::string text;
  std::size_t expected = 1024 + verbose.size();
  for (const auto& answer : answers) expected += answer.message.content.size() + 256;
  text.reserve(expected);
  json::Writer out(text);
  out.begin_object();
  write_head(out, head, "chat.completion");
  out.key("choices").begin_array();
  std::uint32_t index = 0;
  for (const auto& answer : answers) {
    out.begin_object().field("index", index++).key("message");
    write_message(out, answer.message);
    out.key("logprobs");
    answer.has_logprobs ? write_logprobs(out, answer.logprobs, answer.logprob_shape) : void(out.null());
    out.field("finish_reason", answer.finish_reason);
    if (!answer.stopping_word.empty()) out.field("stopping_word", answer.stopping_word);
    out.end_object();
  }
  out.end_array().key("usage");
  write_usage(out, usage);
  out.key("timings");
  write_timings(out, timings);
  write_warnings(out, head.warnings);
  if (!verbose.empty()) out.key("__verbose").raw(verbose);
  out.end_object();
  return text;
}

std::string text_completion(const AnswerHead& head, std::span<const TextAnswer> answers, const Usage& usage,
                            const Timings& timings) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  write_head(out, head, "text_completion");
  out.key("choices").begin_array();
  std::uint32_t index = 0;
  for (const auto& answer : answers) {
    out.begin_object().field("index", index++).field("text", answer.text).key("logprobs");
    answer.has_logprobs ? write_logprobs(out, answer.logprobs, answer.logprob_shape) : void(out.null());
    out.field("finish_reason", answer.finish_reason);
    if (!answer.tokens.empty()) out.key("tokens").raw(tokens_answer(answer.tokens));
    out.end_object();
  }
  out.end_array().key("usage");
  write_usage(out, usage);
  out.key("timings");
  write_timings(out, timings);
  write_warnings(out, head.warnings);
  out.end_object();
  return text;
}

namespace {

void write_vector(json::Writer& out, std::span<const float> vector, bool as_base64) {
  if (as_base64) {
    const auto* bytes = reinterpret_cast<const char*>(vector.data());  // little-endian floats, as in OpenAI's API
    out.raw('"' + base64({bytes, vector.size() * sizeof(float)}) + '"');
    return;
  }
  out.begin_array();
  for (const float number : vector) out.value(number);
  out.end_array();
}

}  // namespace

std::string native_embeddings(std::span<const std::vector<float>> texts, std::size_t size, bool as_base64) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  std::uint32_t index = 0;
  for (const auto& values : texts) {
    out.begin_object().field("index", index++).key("embedding").begin_array();
    for (std::size_t at = 0; at + size <= values.size(); at += size)
      write_vector(out, std::span(values).subspan(at, size), as_base64);
    out.end_array().end_object();
  }
  out.end_array();
  return text;
}

std::string embeddings(std::string_view model, std::span<const std::vector<float>> vectors, bool as_base64,
                       std::uint32_t tokens) {
  std::string text;
  if (!vectors.empty()) text.reserve(vectors.size() * (vectors.front().size() * (as_base64 ? 6 : 12) + 64) + 256);
  json::Writer out(text);
  out.begin_object().field("object", "list").field("model", model).key("data").begin_array();
  std::uint32_t index = 0;
  for (const auto& vector : vectors) {
    out.begin_object().field("object", "embedding").field("index", index++).key("embedding");
    write_vector(out, vector, as_base64);
    out.end_object();
  }
  out.end_array().key("usage").begin_object();
  out.field("prompt_tokens", tokens).field("total_tokens", tokens).end_object().end_object();
  return text;
}

std::string reranking(std::string_view model, std::span<const RankedDocument> ranked,
                      std::span<const std::string> documents, std::uint32_t tokens) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("model", model).field("object", "list").key("usage").begin_object();
  out.field("prompt_tokens", tokens).field("total_tokens", tokens).end_object().key("results").begin_array();
  for (const auto& entry : ranked) {
    out.begin_object().field("index", entry.index).field("relevance_score", entry.score);
    if (entry.index < documents.size()) {
      out.key("document").begin_object().field("text", documents[entry.index]).end_object();
    }
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

std::string ranked_list(std::span<const RankedDocument> ranked, std::span<const std::string> documents) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const auto& entry : ranked) {
    out.begin_object().field("index", entry.index).field("score", entry.score);
    if (entry.index < documents.size()) out.field("text", documents[entry.index]);
    out.end_object();
  }
  out.end_array();
  return text;
}

std::string model_entry(const ModelEntry& entry) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("id", entry.id).field("object", "model").field("created", entry.created);
  out.field("owned_by", entry.owned_by);
  if (!entry.meta.empty()) out.key("meta").raw(entry.meta);
  out.end_object();
  return text;
}

std::string model_list(std::span<const ModelEntry> entries) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("object", "list").key("data").begin_array();
  for (const auto& entry : entries) out.raw(model_entry(entry));
  out.end_array().end_object();
  return text;
}

std::string tokens_answer(std::span<const std::int32_t> tokens) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const auto token : tokens) out.value(token);
  out.end_array();
  return text;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) text.push_back(k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=');
  }
  return text;
}

}  // namespace corral::protocol
