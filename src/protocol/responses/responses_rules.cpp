// Tools, formats and options of the Responses API.
#include "protocol/responses/responses_rules.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/responses/responses_fields.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

constexpr Field kToolName{
    .name = "name", .kinds = kString, .required = true, .min_size = 1, .max_bytes = kMaxFunctionName};
constexpr Field kDescription{.name = "description", .kinds = kString};

Result<> check_function(View tool, const Path& path) {
  static constexpr Field kFields[] = {
      kToolName,
      kDescription,
      {.name = "parameters", .kinds = kObject, .inside = check_tool_schema},
      {.name = "strict", .kinds = kBoolean},
  };
  static const FieldTable table(kFields);
  return table.check(tool, path);
}

Result<> check_custom_format(View format, const Path& path) {
  static constexpr Field kFields[] = {{.name = "definition", .kinds = kString}};
  static const FieldTable table(kFields);
  return table.check(format, path);
}

Result<> check_custom(View tool, const Path& path) {
  static constexpr Field kFields[] = {
      kToolName, kDescription, {.name = "format", .kinds = kObject, .inside = check_custom_format}};
  static const FieldTable table(kFields);
  return table.check(tool, path);
}

// A tool outside of a namespace.
Result<> check_single(View tool, const Path& path) {
  const auto kind = tool_of(tool);
  if (kind == Tool::function) return check_function(tool, path);
  return kind == Tool::custom ? check_custom(tool, path) : Result<>();
}

Result<> check_tools_inside(View tools, const Path& path) { return check_each(tools, path, check_single); }

Result<> check_namespace(View tool, const Path& path) {
  static constexpr Field kFields[] = {
      kToolName,
      kDescription,
      {.name = "tools",
       .kinds = kArray,
       .max_size = kMaxTools,
       .elements = kObject,
       .inside = check_tools_inside,
       .instead = "offer those that this conversation needs"},
  };
  static const FieldTable table(kFields);
  return table.check(tool, path);
}

Result<> check_response_tool(View tool, const Path& path) {
  static constexpr Field kType{.name = "type", .kinds = kString};
  if (const auto type = tool.find("type"); !type.is_null()) {
    if (auto fine = check_value(type, kType, {&path, "type"}); !fine) return fine;
  }
  return tool_of(tool) == Tool::name_space ? check_namespace(tool, path) : check_single(tool, path);
}

// visit(std::string_view name_space, std::string_view name) for each callable tool.
template <typename Visit>
void each_tool(View body, Visit visit) {
  const auto see = [&](std::string_view name_space, View tool) {
    const auto kind = tool_of(tool);
    if (kind == Tool::function || kind == Tool::custom) visit(name_space, tool.find("name").as_string());
  };
  body.find("tools").each_element([&](View tool) {
    see({}, tool);
    if (tool_of(tool) != Tool::name_space) return;
    const auto name_space = tool.find("name").as_string();
    tool.find("tools").each_element([&](View inside) { see(name_space, inside); });
  });
}

bool offers(View body, std::string_view wanted) {
  bool found = false;
  each_tool(body, [&](std::string_view name_space, std::string_view name) {
    found = found || name == wanted || name_in(name_space, name) == wanted;
  });
  return found;
}

bool offers_any(View body) {
  bool any = false;
  each_tool(body, [&](std::string_view, std::string_view) { any = true; });
  return any;
}

}  // namespace

Result<> check_response_tools(View tools, const Path& path) {
  // Each tool is searched among all of them, so tools of namespaces count against the limit of chats, too.
  std::size_t inside = 0;
  tools.each_element([&](View tool) { inside += tool_of(tool) == Tool::name_space ? tool.find("tools").size() : 0; });
  if (inside > kMaxTools) {
    return fail(errc::bad_value,
                fmt::format("'{}' has {} tools in namespaces, more than {}: offer those that this conversation needs",
                            path.text(), inside, kMaxTools),
                path.text());
  }
  return check_each(tools, path, check_response_tool);
}

Result<> check_response_choice(View choice, const Path& path) {
  if (!choice.is_object()) return {};
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true},
      {.name = "name", .kinds = kString},
      {.name = "mode", .kinds = kString, .choices = "auto|required"},
      {.name = "tools", .kinds = kArray, .max_size = kMaxTools, .elements = kObject},
  };
  static const FieldTable table(kFields);
  return table.check(choice, path);
}

// Each event of an answer contains it.
Result<> check_response_metadata(View metadata, const Path& path) {
  constexpr std::size_t kMaxKeys = 16, kMaxKey = 64;
  static constexpr Field kValue{.name = "", .kinds = kString, .max_bytes = 512, .instead = "make it shorter"};
  const auto refuse = [&](std::string reason) {
    return fail(errc::bad_value, fmt::format("'{}' {}", path.text(), reason), path.text());
  };
  if (metadata.size() > kMaxKeys)
    return refuse(fmt::format("has {} keys, at most {} are allowed: omit some", metadata.size(), kMaxKeys));
  Result<> result;
  metadata.each_member([&](std::string_view name, View value) {
    if (name.size() > kMaxKey) {
      result = refuse(fmt::format("has a key of {} bytes, at most {} are allowed: shorten it", name.size(), kMaxKey));
    } else if (!value.is_null()) {
      result = check_value(value, kValue, {&path, name});
    }
    return result.has_value();
  });
  return result;
}

Result<> check_text_options(View text, const Path& path) {
  static constexpr auto kCheckFormat = [](View format, const Path& place) -> Result<> {
    static constexpr Field kFields[] = {
        {.name = "type", .kinds = kString, .required = true, .choices = "text|json_object|json_schema"},
        {.name = "name", .kinds = kString},
        {.name = "schema", .kinds = kObject, .inside = check_schema},
        {.name = "strict", .kinds = kBoolean},
    };
    static const FieldTable table(kFields);
    if (auto fine = table.check(format, place); !fine) return fine;
    if (format.find("type").as_string() != "json_schema" || !format.find("schema").is_null()) return {};
    auto where = Path{&place, "schema"}.text();
    return fail(errc::missing_field, fmt::format("'{}' is required: the format of the response", where), where);
  };
  static constexpr Field kFields[] = {
      {.name = "format", .kinds = kObject, .inside = kCheckFormat},
      {.name = "verbosity", .kinds = kString},
  };
  static const FieldTable table(kFields);
  return table.check(text, path);
}

Result<> check_reasoning_options(View reasoning, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "effort", .kinds = kString, .max_bytes = 64},
      {.name = "summary", .kinds = kString},
      {.name = "generate_summary", .kinds = kString},
  };
  static const FieldTable table(kFields);
  return table.check(reasoning, path);
}

Result<> check_conversation(View conversation, const Path& path) {
  if (!conversation.is_object()) return {};
  static constexpr Field kFields[] = {
      {.name = "id", .kinds = kString, .required = true, .min_size = 1, .max_bytes = kLongestId}};
  static const FieldTable table(kFields);
  return table.check(conversation, path);
}

Result<> decline_prompt(View, const Path& path) {
  return fail(errc::unsupported_value,
              fmt::format("'{}' is a saved prompt, which is not supported: send its text in 'instructions' and 'input'",
                          path.text()),
              path.text());
}

namespace {

Result<> check_input(View body) {
  for (const auto* name : {"input", "conversation", "previous_response_id"}) {
    if (!body.find(name).is_null()) return {};
  }
  return fail(errc::missing_field,
              "'input' is required: a string or an array of objects, unless 'conversation' or 'previous_response_id' "
              "names an earlier conversation",
              "input");
}

Result<> check_keeping(View body) {
  if (!body.find("previous_response_id").is_null() && !body.find("conversation").is_null()) {
    return fail(errc::bad_value,
                "'conversation' and 'previous_response_id' both select an earlier conversation: omit one of them",
                "conversation");
  }
  const auto store = body.find("store");
  if (!body.find("background").as_bool() || store.is_null() || store.as_bool()) return {};
  return fail(errc::bad_value,
              "'background' needs 'store', because the response is read by its ID. Omit 'store', or 'background'",
              "background");
}

}  // namespace

Result<> check_response(View body) {
  if (auto fine = check_input(body); !fine) return fine;
  if (auto fine = check_keeping(body); !fine) return fine;
  const auto choice = body.find("tool_choice");
  const auto type = choice.is_object() ? choice.find("type").as_string() : choice.as_string();
  if (type == "required" && !offers_any(body)) {
    return fail(errc::bad_value,
                "'tool_choice' requires a call, but 'tools' has no usable tool (tools of OpenAI are not available): "
                "add one of type 'function'",
                "tool_choice");
  }
  if (type != "function" && type != "custom") return {};
  if (offers(body, choice.find("name").as_string())) return {};
  return fail(errc::bad_value,
              fmt::format("'tool_choice.name' is {}, which is not in 'tools': add it", choice.find("name").excerpt()),
              "tool_choice.name");
}

Result<> check_compaction(View body) {
  if (!body.find("input").is_null() || !body.find("previous_response_id").is_null()) return {};
  return fail(errc::missing_field,
              "'input' is required: a string or an array of objects, unless 'previous_response_id' names an earlier "
              "response",
              "input");
}

}  // namespace corral::protocol
