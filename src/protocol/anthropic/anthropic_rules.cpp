// Tools, thinking and formats of Anthropic's bodies.
#include "protocol/anthropic/anthropic_rules.h"

#include <fmt/format.h>

#include "protocol/anthropic/anthropic_fields.h"
#include "protocol/errors.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

Result<> check_own_tool(View tool, const Path& path) {
  static constexpr Field kType{.name = "type", .kinds = kString};
  if (const auto type = tool.find("type"); !type.is_null()) {
    if (auto fine = check_value(type, kType, {&path, "type"}); !fine) return fine;
  }
  if (!is_own_tool(tool)) return {};
  static constexpr Field kFields[] = {
      {.name = "name", .kinds = kString, .required = true, .min_size = 1, .max_bytes = kMaxFunctionName},
      {.name = "description", .kinds = kString},
      {.name = "input_schema", .kinds = kObject, .required = true, .inside = check_tool_schema},
      {.name = "strict", .kinds = kBoolean},
  };
  static const FieldTable table(kFields);
  return table.check(tool, path);
}

}  // namespace

bool is_own_tool(View tool) {
  const auto type = tool.find("type");
  return type.is_null() || type.as_string() == "custom";
}

Result<> check_own_tools(View tools, const Path& path) { return check_each(tools, path, check_own_tool); }

Result<> check_choice_of_tool(View choice, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true, .choices = "auto|any|tool|none"},
      {.name = "name", .kinds = kString, .min_size = 1},
      {.name = "disable_parallel_tool_use", .kinds = kBoolean},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(choice, path); !fine) return fine;
  if (choice.find("type").as_string() != "tool" || !choice.find("name").is_null()) return {};
  auto where = Path{&path, "name"}.text();
  return fail(errc::missing_field, fmt::format("'{}' is required: the name of one of 'tools'", where), where);
}

Result<> check_thinking(View thinking, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true, .choices = "enabled|disabled|adaptive|between_tools"},
      {.name = "budget_tokens", .kinds = kInteger, .min = 0},
      {.name = "display", .kinds = kString, .choices = "summarized|omitted"},
  };
  static const FieldTable table(kFields);
  return table.check(thinking, path);
}

Result<> check_output_format(View format, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true, .choices = "json_schema"},
      {.name = "schema", .kinds = kObject, .required = true, .inside = check_schema},
  };
  static const FieldTable table(kFields);
  return table.check(format, path);
}

Result<> check_output_config(View config, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "effort", .kinds = kString, .max_bytes = 64},
      {.name = "format", .kinds = kObject, .inside = check_output_format},
  };
  static const FieldTable table(kFields);
  return table.check(config, path);
}

Result<> check_metadata(View metadata, const Path& path) {
  static constexpr Field kFields[] = {{.name = "user_id", .kinds = kString}};
  static const FieldTable table(kFields);
  return table.check(metadata, path);
}

Result<> check_chosen_own_tool(View body) {
  const auto choice = body.find("tool_choice");
  const auto type = choice.find("type").as_string();
  if (type != "any" && type != "tool") return {};
  const auto wanted = choice.find("name").as_string();
  bool any = false, named = false;
  body.find("tools").each_element([&](View tool) {
    if (!is_own_tool(tool)) return;
    any = true;
    named = named || tool.find("name").as_string() == wanted;
  });
  if (type == "any" && !any) {
    return fail(errc::bad_value,
                "'tool_choice' requires a call, but 'tools' has no usable tool (tools of Anthropic's types are not "
                "supported): add one with an 'input_schema'",
                "tool_choice");
  }
  if (type == "tool" && !named) {
    return fail(errc::bad_value,
                fmt::format("'tool_choice.name' is {}, which is not in 'tools' (tools of Anthropic's types are not "
                            "supported): add it with an 'input_schema'",
                            choice.find("name").excerpt()),
                "tool_choice.name");
  }
  return {};
}

}  // namespace corral::protocol
