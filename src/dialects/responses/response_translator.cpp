#include "dialects/responses/response_translator.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialects/answer_id.h"
#include "dialects/responses/output.h"
#include "dialects/responses/read.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::dialects::responses {
namespace {

using protocol::AnswerPiece;
using protocol::ChoicePiece;

// The end of an answer.
struct Ending {
  std::string_view event;  // of a stream
  std::string_view status;
  std::string_view incomplete;  // why; empty: it isn't
};

Ending ending_of(std::string_view finish) {
  if (finish == "length") return {"response.incomplete", "incomplete", "max_output_tokens"};
  if (finish == "content_filter") return {"response.incomplete", "incomplete", "content_filter"};
  return {"response.completed", "completed", {}};
}

// The status of the last item.
ItemStatus status_of(const Ending& ending) {
  return ending.incomplete.empty() ? ItemStatus::completed : ItemStatus::incomplete;
}

std::string event_name(std::string_view of, std::string_view what) {
  return std::string("response.").append(of).append(what);
}

// Elements of an array, without its brackets.
std::string_view inside(std::string_view array) {
  return array.size() < 2 ? std::string_view() : array.substr(1, array.size() - 2);
}

// The code by which clients decide how to react.
std::string_view code_of(const Error& error) {
  if (error.code == protocol::errc::context_length_exceeded) return "context_length_exceeded";
  switch (kind_of(error.code)) {
    case ErrorKind::invalid_request:
      return "invalid_prompt";  // clients retry after other codes
    case ErrorKind::rate_limited:
      return "rate_limit_exceeded";
    default:
      return "server_error";
  }
}

class ResponsesTranslator final : public ResponseTranslator {
 public:
  explicit ResponsesTranslator(const Canonical& request)
      : facts_(std::static_pointer_cast<const ResponseFacts>(request.facts)),
        id_(request.id),
        model_(request.about.model),
        received_(request.received),
        created_(epoch_millis(request.received) / 1000) {}

  void ping(std::string& out) override {
    if (facts_->background) queue(out);
    out.append(": ping\n\n");
  }
  void piece(std::string& out, const AnswerPiece& piece) override;
  void failure(std::string& out, const Error& error) override;
  void end(std::string& out) override;
  void took(std::chrono::nanoseconds duration) override {
    completed_ = epoch_millis(received_ + std::chrono::duration_cast<WallTime::duration>(duration)) / 1000;
  }
  std::string whole(const AnswerPiece& answer) override;
  // Without output, with this status.
  std::string document(std::string_view status, const Error* error) const {
    std::string text;
    json::Writer json(text);
    write_response(json, status, {}, error);
    return text;
  }

 private:
  void learn(const AnswerPiece& piece);
  std::string item_id(std::string_view kind, std::size_t place) const;
  std::string item_id(std::string_view kind) const { return item_id(kind, output_.size()); }
  OutputItem item_of(const protocol::ToolPiece& tool, std::size_t place) const;
  // One event; `members` writes its members after type and number.
  template <typename Members>
  void event(std::string& out, std::string_view type, Members members);
  void response_event(std::string& out, std::string_view type, std::string_view status,
                      std::string_view incomplete = {}, const Error* error = nullptr);
  void write_response(json::Writer& json, std::string_view status, std::string_view incomplete,
                      const Error* error) const;
  ItemKind thoughts() const { return facts_->summary ? ItemKind::summary : ItemKind::reasoning; }
  // Writes the place of the current item.
  void write_place(json::Writer& json, bool part = true) const;

  void queue(std::string& out);
  void start(std::string& out);
  void add_text(std::string& out, ItemKind kind, const std::string& text, std::string_view logprobs = {});
  void call(std::string& out, const protocol::ToolPiece& tool);
  void open(std::string& out, OutputItem item);
  void close(std::string& out, ItemStatus status = ItemStatus::completed);
  void close_text(std::string& out);
  void close_call(std::string& out);
  void delta(std::string& out, std::string_view text, std::string_view logprobs = {});

  const std::shared_ptr<const ResponseFacts> facts_;
  std::string id_, model_;
  const WallTime received_;
  std::int64_t created_ = 0;    // seconds since 1970
  std::int64_t completed_ = 0;  // the same; 0: it is being made
  bool queued_ = false, started_ = false;
  std::uint64_t sequence_ = 0;
  OutputItem item_;                  // current item
  std::uint32_t call_ = 0;           // its place among the answer's calls
  std::uint32_t calls_ = 0;          // begun; they come one after the other
  std::vector<std::string> output_;  // items that are done, JSON
  std::string begin_;                // first part of a delta of the current item: before its text
  protocol::Usage usage_;
  bool counted_ = false;
  bool has_message_ = false;  // the answer has a message
  std::string finish_;
};

void ResponsesTranslator::learn(const AnswerPiece& piece) {
  if (id_.empty()) id_ = piece.id;
  if (model_.empty()) model_ = piece.model;
  if (created_ == 0) created_ = piece.created;
  if (piece.usage) {
    usage_ = *piece.usage;
    counted_ = true;
  }
}

std::string ResponsesTranslator::item_id(std::string_view kind, std::size_t place) const {
  return answer_id(kind, id_).append("_").append(std::to_string(place));
}

OutputItem ResponsesTranslator::item_of(const protocol::ToolPiece& tool, std::size_t place) const {
  auto named = tool_named(*facts_, tool.call.name);
  const std::string_view kind = named.custom ? "ctc" : "fc";
  return {.kind = ItemKind::call, .id = item_id(kind, place), .call_id = tool.call.id, .tool = std::move(named)};
}

template <typename Members>
void ResponsesTranslator::event(std::string& out, std::string_view type, Members members) {
  out.append("event: ").append(type).append("\ndata: ");
  json::Writer json(out);
  json.begin_object().field("type", type).field("sequence_number", sequence_++);
  members(json);
  json.end_object();
  out.append("\n\n");
}

void ResponsesTranslator::write_response(json::Writer& json, std::string_view status, std::string_view incomplete,
                                         const Error* error) const {
  json.begin_object().field("id", answer_id("resp", id_)).field("object", "response").field("created_at", created_);
  json.field("status", status).field("background", facts_->background).key("completed_at");
  status == "completed" ? json.value(std::max(completed_, created_)) : json.null();
  json.key("error");
  if (error == nullptr) {
    json.null();
  } else {
    json.begin_object().field("code", code_of(*error)).field("message", error->message).end_object();
  }
  json.key("incomplete_details");
  incomplete.empty() ? json.null() : json.begin_object().field("reason", incomplete).end_object();
  json.field("model", model_).key("output").begin_array();
  for (const auto& item : output_) json.raw(item);
  json.end_array().raw(facts_->echo).key("usage");
  if (counted_ && status != "in_progress" && status != "queued") {
    write_usage(json, usage_);
  } else {
    json.null();
  }
  json.end_object();
}

void ResponsesTranslator::response_event(std::string& out, std::string_view type, std::string_view status,
                                         std::string_view incomplete, const Error* error) {
  event(out, type, [&](json::Writer& json) {
    json.key("response");
    write_response(json, status, incomplete, error);
  });
}

void ResponsesTranslator::write_place(json::Writer& json, bool part) const {
  json.field("item_id", item_.id).field("output_index", output_.size());
  if (part) json.field(text_events(item_.kind).index, 0);
}

// A background answer begins with the status queued.
void ResponsesTranslator::queue(std::string& out) {
  if (std::exchange(queued_, true)) return;
  response_event(out, "response.created", "queued");
  response_event(out, "response.queued", "queued");
}

void ResponsesTranslator::start(std::string& out) {
  if (std::exchange(started_, true)) return;
  facts_->background ? queue(out) : response_event(out, "response.created", "in_progress");
  response_event(out, "response.in_progress", "in_progress");
}

void ResponsesTranslator::piece(std::string& out, const AnswerPiece& piece) {
  learn(piece);
  start(out);
  for (const auto& choice : piece.choices) {
    if (choice.index != 0) continue;
    if (!choice.reasoning.empty()) add_text(out, thoughts(), choice.reasoning);
    if (!choice.content.empty()) add_text(out, ItemKind::message, choice.content, inside(choice.logprobs));
    for (const auto& tool : choice.tools) call(out, tool);
    if (!choice.finish_reason.empty()) finish_ = choice.finish_reason;
  }
}

void ResponsesTranslator::add_text(std::string& out, ItemKind kind, const std::string& text,
                                   std::string_view logprobs) {
  if (item_.kind != kind) {
    close(out);
    open(out, {.kind = kind, .id = item_id(kind == ItemKind::message ? "msg" : "rs")});
  }
  item_.text.append(text);
  if (!logprobs.empty()) item_.logprobs.append(item_.logprobs.empty() ? "" : ",").append(logprobs);
  delta(out, text, logprobs);
}

void ResponsesTranslator::call(std::string& out, const protocol::ToolPiece& tool) {
  const bool under_way = item_.kind == ItemKind::call && tool.index == call_;
  if (!under_way && tool.index < calls_) return;  // that call has ended
  if (!under_way) {
    close(out);
    open(out, item_of(tool, output_.size()));
    call_ = tool.index;
    calls_ = tool.index + 1;
  }
  item_.text.append(tool.call.arguments);
  // A text inside an object is known when the object is complete.
  if (!tool.call.arguments.empty() && !item_.tool.custom) delta(out, tool.call.arguments);
}

void ResponsesTranslator::open(std::string& out, OutputItem item) {
  item_ = std::move(item);
  has_message_ = has_message_ || item_.kind == ItemKind::message;
  event(out, "response.output_item.added", [&](json::Writer& json) {
    json.field("output_index", output_.size()).key("item");
    write_item(json, item_, ItemStatus::in_progress);
  });
  const bool text = item_.kind != ItemKind::call;
  const auto named = text_events(item_.kind);
  if (text) {
    event(out, event_name(named.part, ".added"), [&](json::Writer& json) {
      write_place(json);
      json.key("part");
      write_part(json, item_.kind, {});
    });
  }
  const auto type = event_name(text ? named.text : "function_call_arguments", ".delta");
  begin_.assign("event: ").append(type).append("\ndata: ");
  json::Writer json(begin_);
  json.begin_object().field("type", type);
  write_place(json, text);
  json.key("delta");
}

void ResponsesTranslator::delta(std::string& out, std::string_view text, std::string_view logprobs) {
  out.append(begin_);
  json::append_quoted(out, text);
  if (item_.kind == ItemKind::message) out.append(R"(,"logprobs":[)").append(logprobs).push_back(']');
  out.append(R"(,"sequence_number":)").append(std::to_string(sequence_++)).append("}\n\n");
}

void ResponsesTranslator::close(std::string& out, ItemStatus status) {
  if (item_.kind == ItemKind::none) return;
  item_.kind == ItemKind::call ? close_call(out) : close_text(out);
  std::string done;
  json::Writer item(done);
  write_item(item, item_, status);
  event(out, "response.output_item.done",
        [&](json::Writer& json) { json.field("output_index", output_.size()).key("item").raw(done); });
  output_.push_back(std::move(done));
  item_ = {};
}

void ResponsesTranslator::close_text(std::string& out) {
  const auto named = text_events(item_.kind);
  event(out, event_name(named.text, ".done"), [&](json::Writer& json) {
    write_place(json);
    json.field("text", item_.text);
    if (item_.kind == ItemKind::message) write_logprobs(json, item_.logprobs);
  });
  event(out, event_name(named.part, ".done"), [&](json::Writer& json) {
    write_place(json);
    json.key("part");
    write_part(json, item_.kind, item_.text, item_.logprobs);
  });
}

void ResponsesTranslator::close_call(std::string& out) {
  if (!item_.tool.custom) {
    return event(out, "response.function_call_arguments.done", [&](json::Writer& json) {
      write_place(json, false);
      json.field("name", item_.tool.name).field("arguments", item_.text);
    });
  }
  const auto input = custom_input(item_.text);
  event(out, "response.custom_tool_call_input.delta", [&](json::Writer& json) {
    write_place(json, false);
    json.field("delta", input);
  });
  event(out, "response.custom_tool_call_input.done", [&](json::Writer& json) {
    write_place(json, false);
    json.field("input", input);
  });
}

void ResponsesTranslator::failure(std::string& out, const Error& error) {
  start(out);
  response_event(out, "response.failed", "failed", {}, &error);
}

void ResponsesTranslator::end(std::string& out) {
  const auto ending = ending_of(finish_);
  start(out);
  close(out, status_of(ending));
  // Clients expect a message in an answer without calls.
  if (calls_ == 0 && !has_message_) {
    open(out, {.kind = ItemKind::message, .id = item_id("msg")});
    close(out, status_of(ending));
  }
  response_event(out, ending.event, ending.status, ending.incomplete);
}

std::string ResponsesTranslator::whole(const AnswerPiece& answer) {
  learn(answer);
  static const ChoicePiece kNone;
  const auto& choice = answer.choices.empty() ? kNone : answer.choices.front();
  const auto ending = ending_of(choice.finish_reason);
  std::vector<OutputItem> items;
  const auto id = [&](std::string_view kind) { return item_id(kind, items.size()); };
  if (!choice.reasoning.empty()) items.push_back({.kind = thoughts(), .id = id("rs"), .text = choice.reasoning});
  if (!choice.content.empty() || choice.tools.empty())
    items.push_back({.kind = ItemKind::message,
                     .id = id("msg"),
                     .text = choice.content,
                     .logprobs = std::string(inside(choice.logprobs))});
  for (const auto& tool : choice.tools) {
    items.push_back(item_of(tool, items.size()));
    items.back().text = tool.call.arguments;
  }
  for (const auto& item : items) {
    const bool last = &item == &items.back();
    std::string done;
    json::Writer json(done);
    write_item(json, item, last ? status_of(ending) : ItemStatus::completed);
    output_.push_back(std::move(done));
  }
  std::string text;
  json::Writer json(text);
  write_response(json, ending.status, ending.incomplete, nullptr);
  return text;
}

}  // namespace

std::unique_ptr<ResponseTranslator> make_response_translator(const Canonical& request) {
  return std::make_unique<ResponsesTranslator>(request);
}

std::string response_document(const Canonical& request, std::string_view status, const Error* error) {
  return ResponsesTranslator(request).document(status, error);
}

}  // namespace corral::dialects::responses
