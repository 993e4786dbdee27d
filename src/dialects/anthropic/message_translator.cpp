#include "dialects/anthropic/message_translator.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "dialects/answer_id.h"
#include "dialects/anthropic/read.h"
#include "http/sse.h"
#include "json/lone_surrogates.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/http_error.h"

namespace corral::dialects::anthropic {
namespace {

using protocol::AnswerPiece;
using protocol::ChoicePiece;

// Clients return thoughts only with a signature. This server doesn't check it.
constexpr std::string_view kSignature = "unsigned";
// The model itself calls tools, not a program that it wrote.
constexpr std::string_view kCaller = R"({"type":"direct"})";
constexpr std::string_view kPing = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

// The arguments of a call, as an object.
std::string input_of(std::string arguments) {
  json::replace_lone_surrogates(arguments);
  const auto peek = json::Peek::open(arguments);
  return peek && peek->root().is_object() ? arguments : "{}";  // incomplete or absent
}

struct Ending {
  std::string_view reason = {};
  std::string_view sequence = {};  // the stop string that ended the answer
};

Ending ending_of(std::string_view finish, std::string_view word, bool calls, std::uint64_t tokens,
                 const MessageFacts& facts) {
  if (finish == "length") return {tokens < facts.max_tokens ? "model_context_window_exceeded" : "max_tokens"};
  if (calls || finish == "tool_calls") return {"tool_use"};
  if (finish == "content_filter") return {"refusal"};
  return word.empty() ? Ending{"end_turn"} : Ending{"stop_sequence", word};
}

void write_ending(json::Writer& out, const Ending& ending) {
  out.key("stop_reason");
  ending.reason.empty() ? out.null() : out.value(ending.reason);
  out.key("stop_sequence");
  ending.sequence.empty() ? out.null() : out.value(ending.sequence);
  // Always null here, but clients may read them.
  out.key("stop_details").null().key("container").null();
}

void write_usage(json::Writer& out, const protocol::Usage& usage) {
  const auto cached = std::min(usage.cached_tokens, usage.prompt_tokens);
  out.key("usage").begin_object().field("input_tokens", usage.prompt_tokens - cached);
  out.field("cache_creation_input_tokens", 0).field("cache_read_input_tokens", cached);
  out.field("output_tokens", usage.completion_tokens).field("service_tier", "standard");
  for (const auto* name : {"cache_creation", "server_tool_use", "output_tokens_details", "inference_geo", "speed"})
    out.key(name).null();
  out.end_object();
}

void write_head(json::Writer& out, std::string_view id, std::string_view model) {
  out.field("id", answer_id("msg", id)).field("type", "message").field("role", "assistant").field("model", model);
}

class MessageTranslator final : public ResponseTranslator {
 public:
  explicit MessageTranslator(const Canonical& request)
      : facts_(std::static_pointer_cast<const MessageFacts>(request.facts)),
        id_(request.id),
        model_(request.about.model) {}

  void ping(std::string& out) override {
    start(out);
    out.append(kPing);
  }
  void piece(std::string& out, const AnswerPiece& piece) override;
  void failure(std::string& out, const Error& error) override {
    out.append(protocol::sse_error_event(error, protocol::Style::anthropic));
  }
  void end(std::string& out) override;
  std::string whole(const AnswerPiece& answer) override;

 private:
  enum class Kind { none, thinking, text, tool };

  void start(std::string& out);
  void thought(std::string& out, const std::string& text);
  void call(std::string& out, const protocol::ToolPiece& tool);
  // Begins a block of this kind if the current one differs, for a tool one of this call.
  void block(std::string& out, Kind kind, const protocol::ToolPiece* tool = nullptr);
  void close(std::string& out);
  void delta(std::string& out, std::string_view type, std::string_view name, std::string_view text) const;
  void learn(const AnswerPiece& piece);

  const std::shared_ptr<const MessageFacts> facts_;
  std::string id_, model_;
  bool started_ = false;
  Kind kind_ = Kind::none;
  std::uint32_t call_ = 0;   // the current call, for a tool
  std::uint32_t calls_ = 0;  // calls begun; they come one after the other
  std::uint32_t index_ = 0;  // of the current block
  std::string begin_;        // first part of a delta of it
  protocol::Usage usage_;
  std::string finish_, word_;
};

void MessageTranslator::start(std::string& out) {
  if (std::exchange(started_, true)) return;
  out.append("event: message_start\ndata: ");
  json::Writer json(out);
  json.begin_object().field("type", "message_start").key("message").begin_object();
  write_head(json, id_, model_);
  json.key("content").begin_array().end_array();
  write_ending(json, {});
  write_usage(json, usage_);
  json.end_object().end_object();
  out.append("\n\n");
}

// Takes facts that the request lacks.
void MessageTranslator::learn(const AnswerPiece& piece) {
  if (id_.empty()) id_ = piece.id;
  if (model_.empty()) model_ = piece.model;
}

void MessageTranslator::piece(std::string& out, const AnswerPiece& piece) {
  learn(piece);
  if (piece.usage) usage_ = *piece.usage;
  start(out);
  for (const auto& choice : piece.choices) {
    if (choice.index != 0) continue;
    if (!choice.reasoning.empty()) thought(out, choice.reasoning);
    if (!choice.content.empty()) {
      block(out, Kind::text);
      delta(out, "text_delta", "text", choice.content);
    }
    for (const auto& tool : choice.tools) call(out, tool);
    if (!choice.finish_reason.empty()) finish_ = choice.finish_reason;
    if (!choice.stopping_word.empty()) word_ = choice.stopping_word;
  }
}

void MessageTranslator::thought(std::string& out, const std::string& text) {
  if (facts_->thoughts) block(out, Kind::thinking);
  if (facts_->thoughts && !facts_->bare_thoughts) delta(out, "thinking_delta", "thinking", text);
}

void MessageTranslator::call(std::string& out, const protocol::ToolPiece& tool) {
  const bool under_way = kind_ == Kind::tool && tool.index == call_;
  if (!under_way && tool.index < calls_) return;  // that one has ended
  if (!under_way) {
    close(out);
    block(out, Kind::tool, &tool);
    call_ = tool.index;
    calls_ = tool.index + 1;
  }
  if (!tool.call.arguments.empty()) delta(out, "input_json_delta", "partial_json", tool.call.arguments);
}

void MessageTranslator::block(std::string& out, Kind kind, const protocol::ToolPiece* tool) {
  if (kind_ == kind) return;
  close(out);
  kind_ = kind;
  out.append("event: content_block_start\ndata: ");
  json::Writer json(out);
  json.begin_object().field("type", "content_block_start").field("index", index_).key("content_block").begin_object();
  switch (kind) {
    case Kind::thinking:
      json.field("type", "thinking").field("thinking", "").field("signature", "");
      break;
    case Kind::tool:
      json.field("type", "tool_use").field("id", tool->call.id).field("name", tool->call.name);
      json.key("input").begin_object().end_object().key("caller").raw(kCaller);
      break;
    case Kind::text:
    case Kind::none:
      json.field("type", "text").field("text", "");
      break;
  }
  json.end_object().end_object();
  out.append("\n\n");
  begin_ = R"(event: content_block_delta
data: {"type":"content_block_delta","index":)" +
           std::to_string(index_) + R"(,"delta":{"type":")";
}

void MessageTranslator::delta(std::string& out, std::string_view type, std::string_view name,
                              std::string_view text) const {
  out.append(begin_).append(type).append("\",\"").append(name).append("\":");
  json::append_quoted(out, text);
  out.append("}}\n\n");
}

void MessageTranslator::close(std::string& out) {
  if (kind_ == Kind::none) return;
  if (kind_ == Kind::thinking) delta(out, "signature_delta", "signature", kSignature);
  out.append("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":");
  out.append(std::to_string(index_)).append("}\n\n");
  kind_ = Kind::none;
  ++index_;
}

void MessageTranslator::end(std::string& out) {
  start(out);
  close(out);
  out.append("event: message_delta\ndata: ");
  json::Writer json(out);
  json.begin_object().field("type", "message_delta").key("delta").begin_object();
  write_ending(json, ending_of(finish_, word_, calls_ > 0, usage_.completion_tokens, *facts_));
  json.end_object();
  write_usage(json, usage_);
  json.end_object();
  out.append("\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

std::string MessageTranslator::whole(const AnswerPiece& answer) {
  static const ChoicePiece kNone;
  const auto& choice = answer.choices.empty() ? kNone : answer.choices.front();
  const auto usage = answer.usage.value_or(protocol::Usage());
  learn(answer);
  std::string text;
  json::Writer json(text);
  json.begin_object();
  write_head(json, id_, model_);
  json.key("content").begin_array();
  if (facts_->thoughts && !choice.reasoning.empty()) {
    json.begin_object().field("type", "thinking");
    json.field("thinking", facts_->bare_thoughts ? std::string_view() : std::string_view(choice.reasoning));
    json.field("signature", kSignature).end_object();
  }
  if (!choice.content.empty()) {
    json.begin_object().field("type", "text").field("text", choice.content).end_object();
  }
  for (const auto& tool : choice.tools) {
    json.begin_object().field("type", "tool_use").field("id", tool.call.id).field("name", tool.call.name);
    json.key("input").raw(input_of(tool.call.arguments)).key("caller").raw(kCaller).end_object();
  }
  json.end_array();
  const bool calls = !choice.tools.empty();
  write_ending(json, ending_of(choice.finish_reason, choice.stopping_word, calls, usage.completion_tokens, *facts_));
  write_usage(json, usage);
  json.end_object();
  return text;
}

}  // namespace

std::unique_ptr<ResponseTranslator> make_message_translator(const Canonical& request) {
  return std::make_unique<MessageTranslator>(request);
}

}  // namespace corral::dialects::anthropic
