#include "dialects/responses/read.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dialects/canonical_body.h"
#include "dialects/responses/compaction.h"
#include "dialects/responses/earlier.h"
#include "dialects/responses/echo.h"
#include "dialects/responses/items.h"
#include "dialects/responses/kept_items.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "protocol/responses/responses_fields.h"

namespace corral::dialects::responses {
namespace {

using json::View;
using protocol::Tool;

// Indices of items and tools differ from the client's: some are merged, others left out.
constexpr auto kRenamed = std::to_array<Renamed>({
    {"messages", "input", false},
    {"tools", "tools", false},
    {"tool_choice", "tool_choice", false},
    {"response_format.json_schema.schema", "text.format.schema"},
    {"response_format", "text.format", false},
    {"json_schema", "text.format.schema"},
    {"reasoning_effort", "reasoning.effort"},
    {"max_tokens", "max_output_tokens"},
});
std::string own(std::string_view canonical, std::string_view code) { return own_name(canonical, kRenamed, code); }

class Tools {
 public:
  Tools(json::Writer& out, ResponseFacts& facts, OwnNames& names) : out_(out), facts_(facts), names_(names) {}

  void add(View tool) {
    place_ = fmt::format("tools[{}]", seen_++);
    switch (protocol::tool_of(tool)) {
      case Tool::function:
        return function(tool, {});
      case Tool::custom:
        return custom(tool, {});
      case Tool::name_space:
        return add_all(tool);
      case Tool::foreign:
        return;
    }
  }
  void end() {
    if (any_) out_.end_array();
  }
  bool any() const { return any_; }

 private:
  void add_all(View name_space) {
    const auto outside = place_;
    std::size_t at = 0;
    name_space.find("tools").each_element([&](View inside) {
      place_ = fmt::format("{}.tools[{}]", outside, at++);
      add_inside(inside, name_space.find("name").as_string());
    });
  }

  void add_inside(View tool, std::string_view name_space) {
    const auto kind = protocol::tool_of(tool);
    if (kind == Tool::function) function(tool, name_space);
    if (kind == Tool::custom) custom(tool, name_space);
  }

  void begin(NamedTool tool) {
    if (!std::exchange(any_, true)) out_.key("tools").begin_array();
    const auto full = protocol::name_in(tool.name_space, tool.name);
    begin_function(out_, full);
    facts_.tools[full] = std::move(tool);
    names_.tools.push_back(place_);
  }

  void function(View tool, std::string_view name_space) {
    begin({.name_space = std::string(name_space), .name = std::string(tool.find("name").as_string())});
    copy(out_, tool, "description", "description");
    copy(out_, tool, "parameters", "parameters");
    copy(out_, tool, "strict", "strict");
    end_function(out_);
  }

  // A custom tool takes a text; the model is asked for an object with one text.
  void custom(View tool, std::string_view name_space) {
    begin({.name_space = std::string(name_space), .name = std::string(tool.find("name").as_string()), .custom = true});
    std::string about(tool.find("description").as_string());
    if (const auto rules = tool.find("format").find("definition").as_string(); !rules.empty())
      about.append("\nThe input follows these rules:\n").append(rules);
    if (!about.empty()) out_.field("description", about);
    out_.key("parameters")
        .raw(
            R"({"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false})");
    end_function(out_);
  }

  json::Writer& out_;
  ResponseFacts& facts_;
  OwnNames& names_;
  bool any_ = false;
  std::size_t seen_ = 0;
  std::string place_;  // place of the current tool in the client's body
};

// The model's name for a tool, from the client's name: tools without a namespace take precedence.
std::string known_name(std::string_view name, const ResponseFacts& facts) {
  if (facts.tools.contains(name)) return std::string(name);
  for (const auto& [full, tool] : facts.tools) {
    if (tool.name == name) return full;
  }
  return std::string(name);
}

void write_named(json::Writer& out, std::string_view name, const ResponseFacts& facts) {
  begin_function(out, known_name(name, facts));
  end_function(out);
}

void write_choice(json::Writer& out, View choice, const ResponseFacts& facts) {
  if (choice.is_null()) return;
  const auto type = choice.find("type").as_string();
  if (choice.is_string()) {
    out.key("tool_choice").raw(choice.text());
  } else if (type == "function" || type == "custom") {
    out.key("tool_choice");
    write_named(out, choice.find("name").as_string(), facts);
  } else if (type == "allowed_tools") {
    out.key("tool_choice").begin_object().field("type", "allowed_tools").key("allowed_tools").begin_object();
    copy(out, choice, "mode", "mode");
    out.key("tools").begin_array();
    choice.find("tools").each_element([&](View tool) {
      const auto kind = protocol::tool_of(tool);
      if (kind == Tool::function || kind == Tool::custom) write_named(out, tool.find("name").as_string(), facts);
    });
    out.end_array().end_object().end_object();
  }
}

void write_tools(json::Writer& out, View body, ResponseFacts& facts, OwnNames& names) {
  Tools tools(out, facts, names);
  body.find("tools").each_element([&](View tool) { tools.add(tool); });
  tools.end();
  if (!tools.any()) return;
  write_choice(out, body.find("tool_choice"), facts);
  copy(out, body, "parallel_tool_calls", "parallel_tool_calls");
}

void write_format(json::Writer& out, View format) {
  const auto type = format.find("type").as_string();
  if (type.empty() || type == "text") return;
  out.key("response_format").begin_object().field("type", type);
  if (type == "json_schema") {
    out.key("json_schema").begin_object();
    for (const auto* name : {"name", "schema", "strict"}) copy(out, format, name, name);
    out.end_object();
  }
  out.end_object();
}

void write_effort(json::Writer& out, std::string_view effort) {
  if (effort.empty()) return;
  // Templates know only the levels between these.
  if (effort == "minimal") effort = "low";
  if (effort == "xhigh" || effort == "max") effort = "high";
  out.field("reasoning_effort", effort);
}

// The thoughts themselves are the summary, because many clients read nothing else.
bool wants_summary(View reasoning) {
  for (const auto* name : {"summary", "generate_summary"}) {
    const auto wanted = reasoning.find(name).as_string();
    if (wanted == "auto" || wanted == "concise" || wanted == "detailed") return true;
  }
  return false;
}

bool wants_logprobs(View body) {
  bool wanted = body.find("top_logprobs").as_integer() > 0;
  body.find("include").each_element(
      [&](View name) { wanted = wanted || name.as_string() == "message.output_text.logprobs"; });
  return wanted;
}

std::shared_ptr<StorageRequest> storage_request_of(View body, const Before& before) {
  auto request = std::make_shared<StorageRequest>();
  request->previous = body.find("previous_response_id").as_string();
  const auto conversation = body.find("conversation");
  request->conversation = (conversation.is_object() ? conversation.find("id") : conversation).as_string();
  const auto store = body.find("store");
  request->insists = store.as_bool();
  request->store = before.keeps && (store.is_null() || store.as_bool());
  request->background = body.find("background").as_bool();
  auto& references = request->references;
  body.find("input").each_element([&](View item) {
    if (protocol::item_of(item) == protocol::Item::reference) references.emplace_back(item.find("id").as_string());
  });
  std::ranges::sort(references);
  references.erase(std::ranges::unique(references).begin(), references.end());
  return request;
}

// Writes the model and the conversation into the open object of `out`. `closing`: a last text of the user; empty: none.
Begun write_conversation(json::Writer& out, View body, const Earlier& earlier, std::string_view closing = {}) {
  copy(out, body, "model", "model");
  copy(out, body, "ctx_size", "ctx_size");
  out.key("messages").begin_array();
  Items items(out, earlier.items);
  items.instructions(body.find("instructions"));
  for (const auto& text : earlier.texts) items.input(items_of(text));
  items.input(body.find("input"));
  if (!closing.empty()) items.closing(closing);
  auto begun = items.end();
  out.end_array();
  return begun;
}

// Writes the parts of the prompt into the open object of `out`.
Begun write_prompt(json::Writer& out, View body, const Earlier& earlier, ResponseFacts& facts, OwnNames& names) {
  auto begun = write_conversation(out, body, earlier);
  if (begun.any()) out.field("continue_final_message", true);
  write_tools(out, body, facts, names);
  write_format(out, body.find("text").find("format"));
  write_effort(out, body.find("reasoning").find("effort").as_string());
  return begun;
}

}  // namespace

namespace {

// The canonical body that `write` fills, checked.
template <typename Write>
Result<> write_body(Canonical& asked, Write write) {
  json::Writer out(asked.body);
  auto names = std::make_shared<OwnNames>(OwnNames{.field = own});
  out.begin_object();
  write(out, *names);
  out.end_object();
  asked.names = names;
  const auto written = check_written(asked.body, protocol::chat_fields(), *names);
  if (!written) return std::unexpected(written.error());
  asked.about.media = written->media;
  return {};
}

struct Reading {
  const protocol::FieldTable& table;
  bool stores = true;  // the answer may be stored
};

// Sets the parts of a request that need no stored data; write(out, body, earlier, asked, names) does the rest.
template <typename Write>
Result<Canonical> read_with(const std::string& text, const Before& before, Reading reading, Write write) {
  const auto peek = json::Peek::open(text);
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  auto about = protocol::check(body, reading.table);
  if (!about) return std::unexpected(std::move(about.error()));
  const auto request = storage_request_of(body, before);
  if (!reading.stores) *request = {.previous = request->previous, .references = request->references};
  Canonical asked;
  asked.about = std::move(*about);
  asked.storage = request;
  if (request->looks_back() && !before.found) return asked;
  const auto earlier = open_earlier(before);
  if (!earlier) return std::unexpected(earlier.error());
  const auto input = body.find("input");
  if (auto fine = check_references(input, earlier->items); !fine) return std::unexpected(std::move(fine.error()));
  const auto continued = !request->previous.empty() ? "previous_response_id" : "conversation";
  if (!request->previous.empty() || !request->conversation.empty()) {
    if (auto fine = check_outputs(input, *earlier, continued); !fine) return std::unexpected(std::move(fine.error()));
  }
  const bool kept = before.keeps && (request->store || !request->conversation.empty());
  if (kept || (before.remembers && reading.stores)) request->input = kept_input(input, before.id, before.items);
  asked.body.reserve(text.size() + 512);
  auto written =
      write_body(asked, [&](json::Writer& out, OwnNames& names) { write(out, body, *earlier, asked, names); });
  if (!written) return std::unexpected(std::move(written.error()));
  return asked;
}

// Error for bodies that need storage, without storage.
Result<Canonical> alone(Result<Canonical> asked) {
  if (!asked || !(asked->storage->looks_back() || asked->storage->background)) return asked;
  const auto& request = *asked->storage;
  if (request.background) {
    return fail(protocol::errc::unsupported_value,
                "'background' is not available: this server stores no responses. Omit it, and stream", "background");
  }
  const std::string field = !request.previous.empty()       ? "previous_response_id"
                            : !request.conversation.empty() ? "conversation"
                                                            : "input";
  return fail(
      protocol::errc::unsupported_value,
      fmt::format(
          "'{}' needs stored data of earlier requests, but none are stored: send the whole conversation in 'input'",
          field),
      field);
}

}  // namespace

Result<Canonical> read_response_on(const std::string& text, const Before& before) {
  return read_with(
      text, before, {protocol::responses_fields()},
      [](json::Writer& out, View body, const Earlier& earlier, Canonical& asked, OwnNames& names) {
        auto facts = std::make_shared<ResponseFacts>();
        asked.begun = write_prompt(out, body, earlier, *facts, names);
        copy(out, body, "max_output_tokens", "max_tokens");
        for (const auto* name : {"temperature", "top_p", "presence_penalty", "frequency_penalty"})
          copy(out, body, name, name);
        if (wants_logprobs(body)) {
          out.field("logprobs", true);
          copy(out, body, "top_logprobs", "top_logprobs");
        }
        if (asked.about.stream) {
          out.field("stream", true).key("stream_options").begin_object().field("include_usage", true).end_object();
        }
        facts->echo = echo_of(body, *asked.storage);
        facts->background = asked.storage->background;
        facts->summary = wants_summary(body.find("reasoning"));
        asked.facts = std::move(facts);
      });
}

Result<Canonical> read_response(std::string text) { return alone(read_response_on(text, {})); }

Result<Canonical> read_response_count_on(const std::string& text, const Before& before) {
  return read_with(text, before, {protocol::responses_fields()},
                   [](json::Writer& out, View body, const Earlier& earlier, Canonical& asked, OwnNames& names) {
                     ResponseFacts unused;
                     write_prompt(out, body, earlier, unused, names);
                     asked.about.stream = false;
                   });
}

Result<Canonical> read_response_count(std::string text) { return alone(read_response_count_on(text, {})); }

Result<Canonical> read_compaction_on(const std::string& text, const Before& before) {
  return read_with(text, before, {.table = protocol::compaction_fields(), .stores = false},
                   [&before](json::Writer& out, View body, const Earlier& earlier, Canonical& asked, OwnNames&) {
                     write_conversation(out, body, earlier, kSummarize);
                     out.field("enable_thinking", false).field("max_tokens", kLongestSummary);
                     auto facts = std::make_shared<CompactionFacts>();
                     facts->messages =
                         lasting_messages(earlier, kept_input(body.find("input"), before.id, before.items));
                     asked.facts = std::move(facts);
                     asked.about.stream = false;
                   });
}

Result<Canonical> read_compaction(std::string text) { return alone(read_compaction_on(text, {})); }

}  // namespace corral::dialects::responses
