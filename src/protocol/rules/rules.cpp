// Rules for the content of fields of a body: messages, tools, formats, prompts.
#include "protocol/rules/rules.h"

#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/fields.h"

namespace corral::protocol {

Result<> check_each(json::View array, const Path& path, Result<> (*check_one)(json::View, const Path&)) {
  Result<> result;
  std::size_t at = 0;
  array.each_element([&](json::View element) {
    auto fine = check_one(element, Path{&path, {}, at++});
    if (!fine) result = std::move(fine);
    return result.has_value();
  });
  return result;
}

namespace {

std::unexpected<Error> required(const Path& path, std::string_view name, std::string_view what) {
  auto full = Path{&path, name}.text();
  return fail(errc::missing_field, fmt::format("'{}' is required: {}", full, what), full);
}

// --- messages ---

Result<> check_part(json::View part, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type",
       .kinds = kString,
       .required = true,
       .choices = "text|image_url|input_audio|input_video|video_url|refusal"},
      {.name = "text", .kinds = kString},
      {.name = "image_url", .kinds = kObject | kString},
      {.name = "input_audio", .kinds = kObject},
      {.name = "input_video", .kinds = kObject},
      {.name = "video_url", .kinds = kObject | kString},
      {.name = "refusal", .kinds = kString},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(part, path); !fine) return fine;
  const auto type = part.find("type").as_string();
  if (part.find(type).is_null()) return required(path, type, "it is part of this type");
  return {};
}

Result<> check_content(json::View content, const Path& path) {
  return content.is_array() ? check_each(content, path, check_part) : Result<>();
}

Result<> check_called_function(json::View function, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "name", .kinds = kString, .required = true, .min_size = 1},
      {.name = "arguments", .kinds = kString | kObject, .required = true},
  };
  static const FieldTable table(kFields);
  return table.check(function, path);
}

Result<> check_chosen_function(json::View function, const Path& path) {
  static constexpr Field kFields[] = {{.name = "name", .kinds = kString, .required = true, .min_size = 1}};
  static const FieldTable table(kFields);
  return table.check(function, path);
}

Result<> check_tool_call(json::View call, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "id", .kinds = kString},
      {.name = "type", .kinds = kString, .required = true, .choices = "function"},
      {.name = "function", .kinds = kObject, .required = true, .inside = check_called_function},
  };
  static const FieldTable table(kFields);
  return table.check(call, path);
}

Result<> check_tool_calls(json::View calls, const Path& path) { return check_each(calls, path, check_tool_call); }

Result<> check_message(json::View message, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "role", .kinds = kString, .required = true, .min_size = 1, .max_bytes = 256},
      {.name = "content",
       .kinds = kString | kArray,
       .max_size = kMaxParts,
       .elements = kObject,
       .inside = check_content,
       .instead = "join them"},
      {.name = "name", .kinds = kString},
      {.name = "tool_call_id", .kinds = kString},
      {.name = "reasoning_content", .kinds = kString},
      {.name = "refusal", .kinds = kString},
      {.name = "tool_calls", .kinds = kArray, .max_size = kMaxCalls, .elements = kObject, .inside = check_tool_calls},
      {.name = "function_call", .kinds = kObject, .inside = check_called_function},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(message, path); !fine) return fine;
  if (!message.find("content").is_null()) return {};
  if (message.find("role").as_string() != "assistant") {
    return required(path, "content", "a string or an array of parts");
  }
  for (const auto* instead : {"tool_calls", "reasoning_content", "refusal", "function_call"}) {
    if (!message.find(instead).is_null()) return {};
  }
  return required(path, "content", "an assistant message without it needs 'tool_calls'");
}

// Content is checked against the context before a template is filled. A template may drop other members, so this limits
// only their cost: each value takes a hundred bytes, each byte several.
Result<> check_extras(json::View messages, const Path& path) {
  const auto refuse = [&](std::string message) { return fail(errc::bad_value, std::move(message), path.text()); };
  if (const auto values = messages.values(); values > kMaxMessageValues) {
    return refuse(fmt::format("'{}' has {} JSON values in all, at most {} are allowed: omit old ones", path.text(),
                              values, kMaxMessageValues));
  }
  std::size_t bytes = 0;
  messages.each_element([&](json::View message) { bytes += message.bytes() - message.find("content").bytes(); });
  if (bytes <= kMaxMessageExtras) return {};
  return refuse(fmt::format(
      "'{}' has {} bytes beside the 'content' of messages, at most {} are allowed: omit old reasoning and calls",
      path.text(), bytes, kMaxMessageExtras));
}

}  // namespace
Result<> check_messages(json::View messages, const Path& path) {
  if (auto fine = check_extras(messages, path); !fine) return fine;
  return check_each(messages, path, check_message);
}
namespace {
// --- tools and formats ---

Result<> check_function(json::View function, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "name", .kinds = kString, .required = true, .min_size = 1, .max_bytes = kMaxFunctionName},
      {.name = "description", .kinds = kString},
      {.name = "parameters", .kinds = kObject, .inside = check_tool_schema},
      {.name = "strict", .kinds = kBoolean},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(function, path); !fine || !function.find("strict").as_bool()) return fine;
  return check_strict_schema(function.find("parameters"), {.up = &path, .name = "parameters"});
}

Result<> check_tool(json::View tool, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true},
      {.name = "function", .kinds = kObject, .inside = check_function},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(tool, path); !fine) return fine;
  if (tool.find("type").as_string() == "function" && tool.find("function").is_null()) {
    return required(path, "function", "an object with 'name' and 'parameters'");
  }
  if (tool.find("type").as_string() == "custom") {
    const auto where = Path{&path, "type"}.text();
    return fail(errc::unsupported_value,
                fmt::format("'{}' is \"custom\", which chats do not support: use a function with one string parameter, "
                            "or POST /v1/responses, which supports custom tools",
                            where),
                where);
  }
  return {};  // tools of other types are left out, without an error
}

Result<> check_allowed_tool(json::View tool, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true},
      {.name = "function", .kinds = kObject, .inside = check_chosen_function},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(tool, path); !fine) return fine;
  if (tool.find("type").as_string() == "function" && tool.find("function").is_null()) {
    return required(path, "function", "an object with 'name'");
  }
  return {};
}

Result<> check_allowed_list(json::View tools, const Path& path) { return check_each(tools, path, check_allowed_tool); }

Result<> check_allowed_tools(json::View allowed, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "mode", .kinds = kString, .required = true, .choices = "auto|required"},
      {.name = "tools",
       .kinds = kArray,
       .required = true,
       .min_size = 1,
       .max_size = kMaxTools,
       .elements = kObject,
       .inside = check_allowed_list},
  };
  static const FieldTable table(kFields);
  return table.check(allowed, path);
}

}  // namespace
Result<> check_tools(json::View tools, const Path& path) {
  if (const auto bytes = tools.text().size(); bytes > kMaxToolBytes) {
    auto where = path.text();
    return fail(errc::bad_value,
                fmt::format("'{}' has {} bytes, at most {} are allowed: offer those that this conversation needs",
                            where, bytes, kMaxToolBytes),
                where);
  }
  return check_each(tools, path, check_tool);
}
Result<> check_tool_choice(json::View choice, const Path& path) {
  if (!choice.is_object()) return {};
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true, .choices = "function|allowed_tools"},
      {.name = "function", .kinds = kObject, .inside = check_chosen_function},
      {.name = "allowed_tools", .kinds = kObject, .inside = check_allowed_tools},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(choice, path); !fine) return fine;
  const auto type = choice.find("type").as_string();
  if (!choice.find(type).is_null()) return {};
  return required(path, type, type == "function" ? "an object with 'name'" : "an object with 'mode' and 'tools'");
}
namespace {

Result<> check_schema_holder(json::View holder, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "name", .kinds = kString},
      {.name = "schema", .kinds = kObject, .required = true, .inside = check_schema},
      {.name = "strict", .kinds = kBoolean},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(holder, path); !fine || !holder.find("strict").as_bool()) return fine;
  return check_strict_schema(holder.find("schema"), {.up = &path, .name = "schema"});
}

}  // namespace
Result<> check_response_format(json::View format, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true, .choices = "text|json_object|json_schema"},
      {.name = "schema", .kinds = kObject, .inside = check_schema},
      {.name = "json_schema", .kinds = kObject, .inside = check_schema_holder},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(format, path); !fine) return fine;
  if (format.find("type").as_string() == "json_schema" && format.find("json_schema").is_null()) {
    return required(path, "json_schema", "an object with 'schema'");
  }
  return {};
}
Result<> check_stream_options(json::View options, const Path& path) {
  static constexpr Field kFields[] = {{.name = "include_usage", .kinds = kBoolean},
                                      {.name = "prompt_usage", .kinds = kBoolean},
                                      {.name = "each_token", .kinds = kBoolean}};
  static const FieldTable table(kFields);
  return table.check(options, path);
}
namespace {

Result<> check_document(json::View document, const Path& path) {
  if (!document.is_object()) return {};
  static constexpr Field kFields[] = {{.name = "text", .kinds = kString, .required = true}};
  static const FieldTable table(kFields);
  return table.check(document, path);
}

}  // namespace
Result<> check_documents(json::View documents, const Path& path) { return check_each(documents, path, check_document); }

Result<> check_documents_or_texts(json::View body) {
  const auto texts = body.find("texts");
  if (!texts.is_null() && !body.find("documents").is_null()) {
    return fail(
        errc::bad_value,
        fmt::format("'texts' cannot be combined with 'documents', it is {}: they are alternatives, omit one of them",
                    texts.excerpt()),
        "texts");
  }
  if (texts.is_null() && body.find("documents").is_null()) {
    return fail(errc::missing_field,
                "'documents' is required: a non-empty array of strings or objects (or 'texts', an array of strings)",
                "documents");
  }
  return {};
}

}  // namespace corral::protocol
