#include "dialects/anthropic/read.h"

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dialects/anthropic/conversation.h"
#include "dialects/canonical_body.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/anthropic/anthropic_fields.h"

namespace corral::dialects::anthropic {
namespace {

using json::View;

// Indices of messages differ from the client's: some messages are merged, others left out.
constexpr auto kRenamed = std::to_array<Renamed>({
    {"messages", "messages", false},
    {"tools", "tools", false},
    {"tool_choice", "tool_choice", false},
    {"response_format.json_schema.schema", "output_config.format.schema"},
    {"response_format", "output_config.format", false},
    {"json_schema", "output_config.format.schema"},
    {"reasoning_effort", "output_config.effort"},
    {"enable_thinking", "thinking"},
    {"parallel_tool_calls", "tool_choice.disable_parallel_tool_use"},
    {"stop", "stop_sequences"},
});
std::string own(std::string_view canonical, std::string_view code) { return own_name(canonical, kRenamed, code); }

// Indices of tools differ from the client's, because some are left out.
std::shared_ptr<const OwnNames> names_of(View body) {
  auto names = std::make_shared<OwnNames>(OwnNames{.field = own, .schema = "input_schema"});
  std::size_t at = 0;
  body.find("tools").each_element([&](View tool) {
    if (protocol::is_own_tool(tool)) names->tools.push_back(fmt::format("tools[{}]", at));
    ++at;
  });
  return names;
}

void write_tools(json::Writer& out, View body) {
  std::size_t own = 0;
  body.find("tools").each_element([&](View tool) { own += protocol::is_own_tool(tool) ? 1 : 0; });
  if (own > 0) {
    out.key("tools").begin_array();
    body.find("tools").each_element([&](View tool) {
      if (!protocol::is_own_tool(tool)) return;
      begin_function(out, tool.find("name").as_string());
      copy(out, tool, "description", "description");
      copy(out, tool, "input_schema", "parameters");
      copy(out, tool, "strict", "strict");
      end_function(out);
    });
    out.end_array();
  }
  const auto choice = body.find("tool_choice");
  if (own == 0 || choice.is_null()) return;
  const auto type = choice.find("type").as_string();
  out.key("tool_choice");
  if (type == "tool") {
    begin_function(out, choice.find("name").as_string());
    end_function(out);
  } else {
    out.value(type == "any" ? std::string_view("required") : type);
  }
  if (choice.find("disable_parallel_tool_use").as_bool()) out.field("parallel_tool_calls", false);
}

void write_format(json::Writer& out, View body) {
  auto format = body.find("output_config").find("format");
  if (format.is_null()) format = body.find("output_format");
  if (format.is_null()) return;
  out.key("response_format").begin_object().field("type", "json_schema").key("json_schema").begin_object();
  out.key("schema").raw(format.find("schema").text()).end_object().end_object();
}

bool wants_thoughts(View body) {
  const auto type = body.find("thinking").find("type").as_string();
  return !type.empty() && type != "disabled";
}

void write_thinking(json::Writer& out, View body) {
  out.field("enable_thinking", wants_thoughts(body));
  const auto effort = body.find("output_config").find("effort").as_string();
  if (effort.empty()) return;
  // Templates know only the first three levels.
  const bool highest = effort == "xhigh" || effort == "max";
  out.field("reasoning_effort", highest ? std::string_view("high") : effort);
}

// Writes the parts of the prompt into the open object of `out`.
Begun write_prompt(json::Writer& out, View body) {
  copy(out, body, "model", "model");
  copy(out, body, "ctx_size", "ctx_size");
  out.key("messages").begin_array();
  Conversation conversation(out);
  conversation.system(body.find("system"));
  body.find("messages").each_element([&](View message) { conversation.turn(message); });
  auto begun = conversation.end();
  out.end_array();
  if (begun.any()) out.field("continue_final_message", true);
  write_tools(out, body);
  write_format(out, body);
  write_thinking(out, body);
  return begun;
}

}  // namespace

Result<Canonical> read_message(std::string text) {
  const auto peek = json::Peek::open(text);
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  auto about = protocol::check(body, protocol::messages_fields());
  if (!about) return std::unexpected(std::move(about.error()));

  auto facts = std::make_shared<MessageFacts>();
  facts->max_tokens = static_cast<std::uint64_t>(body.find("max_tokens").as_integer());
  facts->thoughts = wants_thoughts(body);
  facts->bare_thoughts = body.find("thinking").find("display").as_string() == "omitted";

  Canonical asked;
  asked.body.reserve(text.size() + 512);
  json::Writer out(asked.body);
  out.begin_object();
  asked.begun = write_prompt(out, body);
  for (const auto* name : {"max_tokens", "temperature", "top_p", "top_k"}) copy(out, body, name, name);
  copy(out, body, "stop_sequences", "stop");
  if (about->stream) {
    out.field("stream", true).key("stream_options").begin_object();
    out.field("include_usage", true).field("prompt_usage", true).end_object();
  }
  out.end_object();
  asked.names = names_of(body);
  const auto written = check_written(asked.body, protocol::chat_fields(), *asked.names);
  if (!written) return std::unexpected(written.error());
  asked.about = std::move(*about);
  asked.about.media = written->media;
  asked.facts = std::move(facts);
  return asked;
}

Result<Canonical> read_count(std::string text) {
  const auto peek = json::Peek::open(text);
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  auto about = protocol::check(body, protocol::count_tokens_fields());
  if (!about) return std::unexpected(std::move(about.error()));
  Canonical asked;
  json::Writer out(asked.body);
  out.begin_object();
  write_prompt(out, body);
  out.end_object();
  asked.names = names_of(body);
  const auto written = check_written(asked.body, protocol::chat_fields(), *asked.names);
  if (!written) return std::unexpected(written.error());
  asked.about = std::move(*about);
  asked.about.media = written->media;
  asked.about.stream = false;
  return asked;
}

}  // namespace corral::dialects::anthropic
