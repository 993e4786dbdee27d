#include "dialects/responses/echo.h"

#include <array>
#include <span>
#include <string_view>

#include "json/writer.h"
#include "protocol/responses/responses_fields.h"

namespace corral::dialects::responses {
namespace {

using json::View;

// Maximum size of a member.
constexpr std::size_t kMaxEcho = 64 << 10;

struct Default {
  std::string_view name;
  std::string_view value;  // JSON
};

constexpr auto kFunction =
    std::to_array<Default>({{"description", "null"}, {"parameters", "null"}, {"strict", "false"}});
constexpr auto kReasoning = std::to_array<Default>({{"effort", "null"}, {"summary", "null"}});
constexpr auto kText = std::to_array<Default>({{"format", R"({"type":"text"})"}});
constexpr auto kSchemaFormat = std::to_array<Default>({{"description", "null"}, {"strict", "false"}});

// The object with all of its members, and those of `defaults` that it lacks. `write` writes a member's value.
template <typename Write>
void write_completed(json::Writer& out, View object, std::span<const Default> defaults, Write write) {
  out.begin_object();
  object.each_member([&](std::string_view name, View value) {
    if (value.is_null()) return;
    out.any_key(name);
    write(name, value);
  });
  for (const auto& [name, value] : defaults) {
    if (object.find(name).is_null()) out.key(name).raw(value);
  }
  out.end_object();
}

void write_completed(json::Writer& out, View object, std::span<const Default> defaults) {
  write_completed(out, object, defaults, [&](std::string_view, View value) { out.raw(value.text()); });
}

void write_tools(json::Writer& out, View tools) {
  out.begin_array();
  tools.each_element([&](View tool) {
    if (protocol::tool_of(tool) == protocol::Tool::function) return write_completed(out, tool, kFunction);
    out.raw(tool.text());
  });
  out.end_array();
}

void write_text(json::Writer& out, View text) {
  write_completed(out, text, kText, [&](std::string_view name, View value) {
    const bool schema = name == "format" && value.find("type").as_string() == "json_schema";
    if (schema) return write_completed(out, value, kSchemaFormat);
    out.raw(value.text());
  });
}

}  // namespace

std::string echo_of(View body, const StorageRequest& request) {
  std::string text;
  json::Writer out(text);
  const auto given = [&](std::string_view name) {
    const auto value = body.find(name);
    return value.is_null() || value.bytes() > kMaxEcho ? View() : value;
  };
  const auto same = [&](std::string_view name, std::string_view otherwise) {
    const auto value = given(name);
    out.key(name);
    value.is_null() ? out.raw(otherwise) : out.raw(value.text());
  };
  out.begin_object();
  same("instructions", "null");
  same("max_output_tokens", "null");
  same("max_tool_calls", "null");
  same("parallel_tool_calls", "true");
  same("previous_response_id", "null");
  out.key("conversation");
  request.conversation.empty() ? out.null() : out.begin_object().field("id", request.conversation).end_object();
  same("prompt_cache_key", "null");
  out.key("reasoning");
  write_completed(out, given("reasoning"), kReasoning);
  same("safety_identifier", "null");
  out.field("service_tier", "default").field("store", request.store);
  same("temperature", "1");
  same("presence_penalty", "0");
  same("frequency_penalty", "0");
  out.key("text");
  write_text(out, given("text"));
  same("tool_choice", R"("auto")");
  out.key("tools");
  write_tools(out, given("tools"));
  same("top_logprobs", "0");
  same("top_p", "1");
  out.field("truncation", "disabled");
  same("user", "null");
  same("metadata", "{}");
  out.end_object();
  return text.substr(1, text.size() - 2);
}

}  // namespace corral::dialects::responses
