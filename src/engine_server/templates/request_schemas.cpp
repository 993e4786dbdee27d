#include "engine_server/templates/request_schemas.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "json_schema/problems.h"
#include "json_schema/refs.h"
#include "protocol/errors.h"

namespace corral::engine_server {
namespace {

using json::Object;
using json::Value;

// Numbers of 16 digits, which no template writes otherwise.
constexpr std::uint64_t kFirstNumber = 9'007'190'000'000'000;
constexpr std::size_t kDigits = 16;
constexpr std::size_t kMaxWarnings = 16;

Error fault_of(const json_schema::SchemaFault& fault, const std::string& path) {
  return {make_error_code(protocol::errc::bad_value), json_schema::describe(fault, path), path};
}

Result<> refuse_or_warn(const json_schema::SchemaGrammar& grammar, const std::string& path, bool strict,
                        Warnings& warnings) {
  for (const auto& one : grammar.unenforced) {
    if (strict && !one.annotation) {
      return fail(protocol::errc::bad_value, json_schema::describe_refused(one, path), path);
    }
    if (warnings.size() >= kMaxWarnings) break;
    warnings.push_back(json_schema::describe_ignored(one, path));
  }
  return {};
}

json_schema::Reading reading_of(bool strict) {
  return strict ? json_schema::Reading::strict : json_schema::Reading::lenient;
}

// The library's name: invalid characters become one '-'.
std::string rule_name(std::string_view tool) {
  std::string name;
  bool replaced = false;  // the character before
  for (const char c : fmt::format("tool-{}-schema", tool)) {
    const bool fine = c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (fine || !replaced) name += fine ? c : '-';
    replaced = !fine;
  }
  return name;
}

Value parameters_of(const Object& tool) {
  const auto* function = tool.if_contains("function");
  const auto* parameters =
      function && function->is_object() ? function->as_object().if_contains("parameters") : nullptr;
  // As in the library: no parameters are an object without any.
  if (!parameters || parameters->is_null() || (parameters->is_object() && parameters->as_object().empty())) {
    return Object{{"type", "object"}, {"properties", Object()}, {"additionalProperties", false}};
  }
  return *parameters;
}

}  // namespace

Result<std::string> schema_grammar(const protocol::AnswerSchema& schema, Warnings& warnings) {
  const auto value = json::parse(schema.text);
  if (!value)
    return fail(protocol::errc::bad_value, fmt::format("'{}': {}", schema.path, value.error().message), schema.path);
  json_schema::Workspace workspace("j");
  const auto made = json_schema::make_grammar(*value, workspace, reading_of(schema.strict));
  if (!made) return std::unexpected(fault_of(made.error(), schema.path));
  if (auto noted = refuse_or_warn(*made, schema.path, schema.strict, warnings); !noted)
    return std::unexpected(noted.error());
  return fmt::format("root ::= {}\n{}", made->root, workspace.text.text());
}

Result<RequestSchemas> RequestSchemas::read(const protocol::ChatRequest& request) {
  RequestSchemas all;
  if (const auto& schema = request.json_schema; !schema.text.empty()) {
    const auto value = json::parse(schema.text);
    if (!value) {
      return fail(protocol::errc::bad_value, fmt::format("'{}': {}", schema.path, value.error().message), schema.path);
    }
    if (auto added = all.add(*value, schema.path, schema.strict); !added) return std::unexpected(added.error());
    all.has_answer_ = true;
  }
  if (request.tools.empty() || request.tool_choice == protocol::ToolChoice::none) return all;
  auto tools = json::parse(request.tools);
  if (!tools) return fail(protocol::errc::bad_value, fmt::format("'tools': {}", tools.error().message), "tools");
  auto& list = tools->as_array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    Tool tool;
    tool.own = std::move(list[i].as_object());
    tool.path =
        fmt::format("tools[{}].function.parameters", i < request.tool_places.size() ? request.tool_places[i] : i);
    tool.strict = json::bool_or(tool.own.at("function"), "strict", false);
    auto slot = all.add(parameters_of(tool.own), tool.path, tool.strict);
    if (!slot) return std::unexpected(std::move(slot.error()));
    tool.slot = *slot;
    all.tools_.push_back(std::move(tool));
  }
  return all;
}

Result<std::size_t> RequestSchemas::add(const Value& schema, const std::string& path, bool strict) {
  auto made = json_schema::make_grammar(schema, *workspace_, reading_of(strict));
  if (!made) return std::unexpected(fault_of(made.error(), path));
  if (auto noted = refuse_or_warn(*made, path, strict, warnings_); !noted)
    return std::unexpected(std::move(noted.error()));
  slots_.push_back({std::move(*made)});
  return slots_.size() - 1;
}

std::string RequestSchemas::answer_placeholder() const {
  return has_answer_ ? fmt::format(R"({{"const":{}}})", kFirstNumber) : std::string();
}

bool RequestSchemas::shown_in(std::string_view prompt) const {
  return has_answer_ && prompt.contains(std::to_string(kFirstNumber));
}

std::string RequestSchemas::whole_tools() const {
  json::Array all;
  for (const auto& tool : tools_) {
    auto own = tool.own;
    own["function"].as_object()["parameters"] = Object{{"const", kFirstNumber + tool.slot}};
    all.push_back(std::move(own));
  }
  return json::serialize(all);
}

std::string RequestSchemas::tools_by_parameter() {
  json::Array all;
  for (auto& tool : tools_) {
    auto own = tool.own;
    const auto parameters = json_schema::with_pointers(parameters_of(tool.own));  // read() has accepted it
    Object shaped{{"type", "object"}, {"properties", Object()}};
    if (const auto* required = json::find(parameters, "required")) shaped["required"] = *required;
    if (const auto* properties = json::find(parameters, "properties"); properties && properties->is_object()) {
      for (const auto& [name, schema] : properties->as_object()) {
        shaped["properties"].as_object()[name] = shape_of(tool, parameters, name, schema);
      }
    }
    own["function"].as_object()["parameters"] = std::move(shaped);
    all.push_back(std::move(own));
  }
  return json::serialize(all);
}

Object RequestSchemas::shape_of(Tool& tool, const Value& parameters, std::string_view name, const Value& schema) {
  const auto types = json_schema::value_types(parameters, schema, *workspace_);
  if (types.empty()) return {};
  if (std::ranges::find(types, "string") == types.end()) {
    if (auto made = json_schema::make_property_grammar(parameters, name, *workspace_, reading_of(tool.strict))) {
      tool.parameters.push_back(slots_.size());
      slots_.push_back({std::move(*made)});
      return {{"const", kFirstNumber + slots_.size() - 1}};
    }
  }
  return {{"type", json::Array(types.begin(), types.end())}};
}

bool RequestSchemas::replace_tool_rules(std::string& grammar) {
  std::unordered_map<std::string, std::size_t> slots;  // by the names of rules
  for (const auto& tool : tools_) {
    const auto name = rule_name(json::text_or(tool.own.at("function"), "name", ""));
    if (!slots.emplace(name, tool.slot).second) return false;
  }
  // Rules of parts of a schema that is replaced; a tool of a strange name may have rules that look like these.
  const auto is_part = [&](std::string_view rule) {
    constexpr std::string_view kEnd = "-schema";
    for (auto at = rule.find("-schema-"); at != std::string_view::npos; at = rule.find("-schema-", at + 1)) {
      if (slots.contains(std::string(rule.substr(0, at + kEnd.size())))) return true;
    }
    return false;
  };
  const bool drop = std::ranges::none_of(slots, [&](const auto& one) { return is_part(one.first); });
  std::string replaced;
  std::size_t found = 0;
  for (std::size_t at = 0; at < grammar.size();) {
    const auto end = std::min(grammar.find('\n', at), grammar.size());
    const auto line = std::string_view(grammar).substr(at, end - at);
    const auto name = line.substr(0, std::min(line.find(' '), line.size()));
    if (name.ends_with('0') && slots.contains(std::string(name.substr(0, name.size() - 1))))
      return false;  // a second one
    if (const auto slot = slots.find(std::string(name)); slot != slots.end()) {
      ++found;
      replaced.append(name).append(" ::= ").append(slots_[slot->second].grammar.root);
      replaced += '\n';
    } else if (!drop || !is_part(name)) {
      replaced.append(line) += '\n';
    }
    at = end + 1;
  }
  if (found != tools_.size()) return false;
  grammar = std::move(replaced);
  return true;
}

void RequestSchemas::fill(std::string& grammar) {
  std::string filled;
  std::size_t done = 0;
  // A literal of a number alone: "9007190000000000".
  for (auto at = grammar.find('"'); at != std::string::npos; at = grammar.find('"', at + 1)) {
    std::uint64_t value = 0;
    const auto* begin = grammar.data() + at + 1;
    if (at + kDigits + 1 >= grammar.size() || begin[kDigits] != '"') continue;
    const auto parsed = std::from_chars(begin, begin + kDigits, value);
    if (parsed.ptr != begin + kDigits || value < kFirstNumber || value - kFirstNumber >= slots_.size()) continue;
    auto& slot = slots_[value - kFirstNumber];
    filled.append(grammar, done, at - done).append(slot.grammar.root);
    slot.found = true;
    at += kDigits + 1;
    done = at + 1;
  }
  filled.append(grammar, done);
  grammar = std::move(filled);
}

void RequestSchemas::append_rules(std::string& grammar) const {
  if (!grammar.ends_with('\n')) grammar += '\n';
  grammar += workspace_->text.text();
}

bool RequestSchemas::found_tools() const {
  return std::ranges::any_of(tools_, [&](const Tool& tool) { return slots_[tool.slot].found; });
}

void RequestSchemas::warn_of_format() {
  for (const auto& tool : tools_) {
    const auto found = [&](std::size_t slot) { return slots_[slot].found; };
    const auto parameters = parameters_of(tool.own);
    const auto* properties = json::find(parameters, "properties");
    const auto count = properties && properties->is_object() ? properties->as_object().size() : 0;
    if (count == static_cast<std::size_t>(std::ranges::count_if(tool.parameters, found))) continue;
    if (warnings_.size() >= kMaxWarnings) return;
    warnings_.push_back(fmt::format(
        "'{}': in this model's tool calls strings are plain text, so only their type is enforced", tool.path));
  }
}

}  // namespace corral::engine_server
