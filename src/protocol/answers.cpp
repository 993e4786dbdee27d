#include "protocol/answers.h"

#include "json/writer.h"

namespace corral::protocol {
namespace {

void write_usage(json::Writer& out, const Usage& usage) {
  out.begin_object().field("completion_tokens", usage.completion_tokens).field("prompt_tokens", usage.prompt_tokens);
  out.field("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  out.key("prompt_tokens_details").begin_object().field("cached_tokens", usage.cached_tokens).end_object();
  out.end_object();
}

void write_rate(json::Writer& out, const char* per_token, const char* per_second, double ms, std::uint32_t count) {
  out.field(per_token, count > 0 ? ms / count : 0.0).field(per_second, ms > 0 ? 1000.0 * count / ms : 0.0);
}

void write_timings(json::Writer& out, const Timings& timings) {
  out.begin_object().field("cache_n", timings.cache_n);
  out.field("prompt_n", timings.prompt_n).field("prompt_ms", timings.prompt_ms);
  write_rate(out, "prompt_per_token_ms", "prompt_per_second", timings.prompt_ms, timings.prompt_n);
  out.field("predicted_n", timings.predicted_n).field("predicted_ms", timings.predicted_ms);
  write_rate(out, "predicted_per_token_ms", "predicted_per_second", timings.predicted_ms, timings.predicted_n);
  if (timings.draft_n > 0) out.field("draft_n", timings.draft_n).field("draft_n_accepted", timings.draft_n_accepted);
  out.end_object();
}

void write_token(json::Writer& out, const TopLogprob& token) {
  out.field("id", token.id).field("token", token.token).key("bytes").begin_array();
  for (const char c : token.token) out.value(static_cast<unsigned>(static_cast<unsigned char>(c)));
  out.end_array().field("logprob", token.logprob);
}

void write_logprobs(json::Writer& out, std::span<const TokenLogprob> tokens) {
  out.begin_object().key("content").begin_array();
  for (const auto& token : tokens) {
    out.begin_object();
    write_token(out, token);
    out.key("top_logprobs").begin_array();
    for (const auto& top : token.top) {
      out.begin_object();
      write_token(out, top);
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
}

void write_head(json::Writer& out, const AnswerHead& head, std::string_view object) {
  out.field("id", head.id).field("object", object).field("created", head.created).field("model", head.model);
  out.field("system_fingerprint", head.fingerprint);
}

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

void append_quoted_field(std::string& out, std::string_view name, std::string_view text, bool comma) {
  if (comma) out.push_back(',');
  out.append("\"").append(name).append("\":");
  json::append_quoted(out, text);
}

}  // namespace

std::string chat_completion(const AnswerHead& head, const ChatAnswer& answer, const Usage& usage,
                            const Timings& timings) {
  std::string text;
  text.reserve(answer.message.content.size() + 1024);
  json::Writer out(text);
  out.begin_object();
  write_head(out, head, "chat.completion");
  out.key("choices").begin_array().begin_object().field("index", 0).key("message");
  write_message(out, answer.message);
  out.key("logprobs");
  answer.has_logprobs ? write_logprobs(out, answer.logprobs) : void(out.null());
  out.field("finish_reason", answer.finish_reason).end_object().end_array().key("usage");
  write_usage(out, usage);
  out.key("timings");
  write_timings(out, timings);
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
    answer.has_logprobs ? write_logprobs(out, answer.logprobs) : void(out.null());
    out.field("finish_reason", answer.finish_reason);
    if (!answer.tokens.empty()) out.key("tokens").raw(tokens_answer(answer.tokens));
    out.end_object();
  }
  out.end_array().key("usage");
  write_usage(out, usage);
  out.key("timings");
  write_timings(out, timings);
  out.end_object();
  return text;
}

ChunkWriter::ChunkWriter(Shape shape, const AnswerHead& head) : shape_(shape), prefix_("data: ") {
  json::Writer out(prefix_);
  out.begin_object();
  write_head(out, head, shape == Shape::chat ? "chat.completion.chunk" : "text_completion");
  out.key("choices");
}

void ChunkWriter::role(std::string& out) const {
  out.append(prefix_).append(R"([{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})"
                             "\n\n");
}

void ChunkWriter::delta(std::string& out, const ChatDelta& delta, std::span<const TokenLogprob> logprobs,
                        const Timings* timings) const {
  out.append(prefix_).append(R"([{"index":0,"delta":{)");
  bool comma = false;
  if (!delta.reasoning_content.empty()) {
    append_quoted_field(out, "reasoning_content", delta.reasoning_content, comma);
    comma = true;
  }
  if (!delta.content.empty()) {
    append_quoted_field(out, "content", delta.content, comma);
    comma = true;
  }
  if (delta.tool_index) {
    if (comma) out.push_back(',');
    out.append(R"("tool_calls":[)");
    json::Writer call(out);
    call.begin_object().field("index", *delta.tool_index);
    if (!delta.tool.id.empty()) call.field("id", delta.tool.id).field("type", "function");
    call.key("function").begin_object();
    if (!delta.tool.name.empty()) call.field("name", delta.tool.name);
    call.field("arguments", delta.tool.arguments).end_object().end_object();
    out.push_back(']');
  }
  out.append("},");
  close(out, logprobs, timings);
}

void ChunkWriter::text(std::string& out, std::string_view text, std::span<const TokenLogprob> logprobs,
                       const Timings* timings) const {
  out.append(prefix_).append(R"([{"index":0,"text":)");
  json::append_quoted(out, text);
  out.push_back(',');
  close(out, logprobs, timings);
}

void ChunkWriter::close(std::string& out, std::span<const TokenLogprob> logprobs, const Timings* timings) const {
  if (!logprobs.empty()) {
    out.append("\"logprobs\":");
    json::Writer writer(out);
    write_logprobs(writer, logprobs);
    out.push_back(',');
  }
  out.append(R"("finish_reason":null}])");
  if (timings) {
    out.append(",\"timings\":");
    json::Writer writer(out);
    write_timings(writer, *timings);
  }
  out.append("}\n\n");
}

void ChunkWriter::finish(std::string& out, std::string_view reason, const Timings* timings) const {
  out.append(prefix_);
  out.append(shape_ == Shape::chat ? R"([{"index":0,"delta":{},"finish_reason":")"
                                   : R"([{"index":0,"text":"","finish_reason":")");
  out.append(reason).append("\"}]");
  if (timings) {
    out.append(",\"timings\":");
    json::Writer writer(out);
    write_timings(writer, *timings);
  }
  out.append("}\n\n");
}

void ChunkWriter::usage(std::string& out, const Usage& usage, const Timings* timings) const {
  out.append(prefix_).append("[],\"usage\":");
  json::Writer writer(out);
  write_usage(writer, usage);
  if (timings) {
    writer.key("timings");
    write_timings(writer, *timings);
  }
  out.append("}\n\n");
}

void ChunkWriter::done(std::string& out) { out.append("data: [DONE]\n\n"); }

std::string embeddings(std::string_view model, std::span<const std::vector<float>> vectors, bool as_base64,
                       std::uint32_t tokens) {
  std::string text;
  if (!vectors.empty()) text.reserve(vectors.size() * (vectors.front().size() * (as_base64 ? 6 : 12) + 64) + 256);
  json::Writer out(text);
  out.begin_object().field("object", "list").field("model", model).key("data").begin_array();
  std::uint32_t index = 0;
  for (const auto& vector : vectors) {
    out.begin_object().field("object", "embedding").field("index", index++).key("embedding");
    if (as_base64) {
      const auto* bytes = reinterpret_cast<const char*>(vector.data());  // little-endian floats, as OpenAI sends them
      out.raw('"' + base64({bytes, vector.size() * sizeof(float)}) + '"');
    } else {
      out.begin_array();
      for (const float number : vector) out.value(number);
      out.end_array();
    }
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
