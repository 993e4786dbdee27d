#include "protocol/chat_parts.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "json/lone_surrogates.h"
#include "json/writer.h"
#include "protocol/request_parts.h"

namespace corral::protocol {
namespace {

using json::View;

void copy(json::Writer& out, View from, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (const auto value = from.find(name); !value.is_null()) out.key(name).raw(value.text());
  }
}

// The text as spelled; "" if the last one of two equal members is null.
std::string string_text(View text) { return text.is_string() ? text.text() : std::string(R"("")"); }

void write_text_part(json::Writer& out, View text) {
  out.begin_object().field("type", "text").key("text").raw(string_text(text)).end_object();
}

void write_part(json::Writer& out, View part) {
  const auto type = part.find("type").as_string();
  if (type == "text" || type == "refusal") return write_text_part(out, part.find(type));
  out.raw(part.text());
}

void write_content(json::Writer& out, View message) {
  const auto content = message.find("content");
  out.key("content");
  if (content.is_array()) {
    out.begin_array();
    content.each_element([&](View part) { write_part(out, part); });
    out.end_array();
  } else {
    out.raw((content.is_null() ? message.find("refusal") : content).text());
  }
}

// Clients send "" for a call without arguments, and invalid JSON for a call that was cut off or misspelled. Templates
// need an object. Half an emoji in it is an escape within a string, so it isn't replaced with those of the body.
std::string arguments_text(View arguments) {
  if (arguments.is_object()) return arguments.text();
  const auto text = arguments.as_string();
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return R"("{}")";
  std::string copy(text);
  const bool replaced = json::replace_lone_surrogates(copy);
  const auto peek = json::Peek::open(copy);
  if (peek && peek->root().is_object()) {
    if (!replaced) return arguments.text();
    std::string quoted;
    json::append_quoted(quoted, copy);
    return quoted;
  }
  if (peek && peek->root().is_null()) return R"("{}")";
  std::string object;
  json::Writer(object).begin_object().field("arguments", text).end_object();
  return object;
}

void write_function_call(json::Writer& out, View call, View function) {
  out.begin_object().field("type", "function");
  copy(out, call, {"id"});
  out.key("function").begin_object().key("name").raw(string_text(function.find("name")));
  out.key("arguments").raw(arguments_text(function.find("arguments"))).end_object().end_object();
}

void write_calls(json::Writer& out, View message) {
  const auto calls = message.find("tool_calls"), old_call = message.find("function_call");
  if (calls.empty() && old_call.is_null()) return;
  out.key("tool_calls").begin_array();
  calls.each_element([&](View call) { write_function_call(out, call, call.find("function")); });
  if (calls.empty()) write_function_call(out, {}, old_call);
  out.end_array();
}

void write_message(json::Writer& out, View message) {
  const auto role = message.find("role").as_string();
  out.begin_object().field("role", role == "function" ? std::string_view("tool") : role);
  write_content(out, message);
  copy(out, message, {"reasoning_content", "name", "tool_call_id"});
  write_calls(out, message);
  out.end_object();
}

// ---- schemas

constexpr auto kValues = std::to_array<std::string_view>({"const", "default", "enum", "examples"});
constexpr auto kSchemasByName =
    std::to_array<std::string_view>({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"});

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void write_schema(json::Writer& out, View value);

void write_schemas_by_name(json::Writer& out, View schemas) {
  out.begin_object();
  schemas.each_member([&](std::string_view name, View schema) {
    if (schema.is_null()) return;
    out.any_key(name);
    write_schema(out, schema);
  });
  out.end_object();
}

void write_schema(json::Writer& out, View value) {
  if (value.is_array()) {
    out.begin_array();
    value.each_element([&](View element) { write_schema(out, element); });
    out.end_array();
    return;
  }
  if (!value.is_object()) {
    out.raw(value.text());
    return;
  }
  out.begin_object();
  value.each_member([&](std::string_view name, View keyword) {
    const bool is_value = is_one_of(kValues, name);
    if (keyword.is_null() && !is_value) return;
    out.any_key(name);
    if (is_value) {
      out.raw(keyword.text());
    } else if (keyword.is_object() && is_one_of(kSchemasByName, name)) {
      write_schemas_by_name(out, keyword);
    } else {
      write_schema(out, keyword);
    }
  });
  out.end_object();
}

void write_tool(json::Writer& out, View function) {
  out.begin_object().field("type", "function").key("function").begin_object();
  out.key("name").raw(string_text(function.find("name")));
  copy(out, function, {"description"});
  if (const auto parameters = function.find("parameters"); !parameters.is_null())
    out.key("parameters").raw(schema_without_nulls(parameters));
  copy(out, function, {"strict"});
  out.end_object().end_object();
}

}  // namespace

std::string messages_text(View messages) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  messages.each_element([&](View message) { write_message(out, message); });
  out.end_array();
  return text;
}

std::string tools_text(View tools, const std::optional<std::vector<std::string_view>>& chosen,
                       std::vector<std::uint32_t>& places) {
  std::string text;
  json::Writer out(text);
  bool any = false;
  out.begin_array();
  std::uint32_t place = 0;
  tools.each_element([&](View tool) {
    const auto here = place++;
    const auto name = function_name(tool);
    if (!name || (chosen && std::ranges::find(*chosen, *name) == chosen->end())) return;
    any = true;
    places.push_back(here);
    write_tool(out, tool.find("function"));
  });
  out.end_array();
  return any ? text : std::string();
}

std::string schema_without_nulls(View schema) {
  auto text = schema.text();
  if (!text.contains("null")) return text;
  text.clear();
  json::Writer out(text);
  write_schema(out, schema);
  return text;
}

}  // namespace corral::protocol
