// Items of the Responses API's input.
#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/media.h"
#include "protocol/responses/responses_fields.h"
#include "protocol/responses/responses_rules.h"
#include "protocol/rules/rules.h"
#include "protocol/text_file.h"

namespace corral::protocol {
namespace {

using json::View;

Result<> check_file(View part, const Path& path) {
  for (const auto* name : {"file_id", "file_url"}) {
    if (part.find(name).is_null()) continue;
    auto where = Path{&path, name}.text();
    return fail(
        errc::unsupported_value,
        fmt::format(
            "'{}' is a reference to a file, but files are not stored or downloaded: send its text in 'file_data'",
            where),
        where);
  }
  auto where = Path{&path, "file_data"}.text();
  const auto data = part.find("file_data");
  if (data.is_null())
    return fail(errc::missing_field, fmt::format("'{}' is required: a text document as a data URL", where), where);
  if (is_picture_url(data.as_string())) return check_picture_url(data, {&path, "file_data"});
  auto text = text_of_file(data.as_string());
  if (text) return {};
  return std::unexpected(Error(text.error().code, fmt::format("'{}' {}", where, text.error().message), where));
}

Result<> check_part(View part, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type",
       .kinds = kString,
       .required = true,
       .choices = "input_text|output_text|text|refusal|input_image|input_audio|input_file"},
      {.name = "text", .kinds = kString},
      {.name = "refusal", .kinds = kString},
      {.name = "image_url", .kinds = kString},
      {.name = "input_audio", .kinds = kObject, .inside = check_sound},
      {.name = "filename", .kinds = kString},
      {.name = "file_data", .kinds = kString},
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(part, path); !fine) return fine;
  const auto type = part.find("type").as_string();
  if (type == "input_file") return check_file(part, path);
  const auto wanted = type == "input_image" ? "image_url" : type == "refusal" || type == "input_audio" ? type : "text";
  if (const auto inside = part.find(wanted); !inside.is_null())
    return type == "input_image" ? check_picture_url(inside, {&path, wanted}) : Result<>();
  auto where = Path{&path, wanted}.text();
  return fail(errc::missing_field, fmt::format("'{}' is required for this type of part", where), where);
}

Result<> check_content(View content, const Path& path) {
  return content.is_array() ? check_each(content, path, check_part) : Result<>();
}

constexpr Field kContent{.name = "content",
                         .kinds = kString | kArray,
                         .required = true,
                         .max_size = kMaxParts,
                         .elements = kObject,
                         .inside = check_content,
                         .instead = "join them"};

Result<> check_message(View item, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "role", .kinds = kString, .required = true, .choices = "user|assistant|system|developer"},
      kContent,
  };
  static const FieldTable table(kFields);
  if (auto fine = table.check(item, path); !fine) return fine;
  const auto role = item.find("role").as_string();
  if (role != "system" && role != "developer") return {};
  Result<> result;
  std::size_t at = 0;
  item.find("content").each_element([&](View part) {
    const Path content{&path, "content"}, place{&content, {}, at++};
    const auto type = part.find("type").as_string();
    const bool sound = type == "input_audio";
    const bool picture = type == "input_image" || is_picture_url(part.find("file_data").as_string());
    if (!sound && !picture) return true;
    auto where = Path{&place, "type"}.text();
    result = fail(errc::unsupported_value,
                  fmt::format("'{}' cannot be \"{}\" in a message of the {}: send the {} as the user", where, type,
                              role, sound ? "sound" : "picture"),
                  where);
    return false;
  });
  return result;
}

constexpr Field kCallId{.name = "call_id", .kinds = kString, .required = true, .min_size = 1};
constexpr Field kCalled{
    .name = "name", .kinds = kString, .required = true, .min_size = 1, .max_bytes = kMaxFunctionName};
constexpr Field kNamespace{.name = "namespace", .kinds = kString, .max_bytes = kMaxFunctionName};

Result<> check_call(View item, const Path& path) {
  static constexpr Field kFields[] = {
      kCallId,
      kCalled,
      kNamespace,
      {.name = "arguments", .kinds = kString, .required = true},
  };
  static const FieldTable table(kFields);
  return table.check(item, path);
}

Result<> check_custom_call(View item, const Path& path) {
  static constexpr Field kFields[] = {
      kCallId,
      kCalled,
      kNamespace,
      {.name = "input", .kinds = kString, .required = true},
  };
  static const FieldTable table(kFields);
  return table.check(item, path);
}

Result<> check_output(View item, const Path& path) {
  static constexpr Field kOutput = [] {
    auto field = kContent;
    field.name = "output";
    return field;
  }();
  // Without it the item belongs to the next call.
  static constexpr Field kAnyCallId = [] {
    auto field = kCallId;
    field.required = false;
    return field;
  }();
  static constexpr Field kFields[] = {kAnyCallId, kOutput};
  static const FieldTable table(kFields);
  return table.check(item, path);
}

Result<> check_thought(View thought, const Path& path) {
  static constexpr Field kFields[] = {{.name = "text", .kinds = kString}};
  static const FieldTable table(kFields);
  return table.check(thought, path);
}

Result<> check_thoughts(View thoughts, const Path& path) { return check_each(thoughts, path, check_thought); }

Result<> check_reasoning(View item, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "content", .kinds = kArray, .max_size = kMaxParts, .elements = kObject, .inside = check_thoughts},
      {.name = "summary", .kinds = kArray, .max_size = kMaxParts, .elements = kObject, .inside = check_thoughts},
  };
  static const FieldTable table(kFields);
  return table.check(item, path);
}

Result<> check_reference(View item, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "id", .kinds = kString, .required = true, .min_size = 1, .max_bytes = kLongestId}};
  static const FieldTable table(kFields);
  return table.check(item, path);
}

Result<> check_compacted(View item, const Path& path) {
  static constexpr Field kFields[] = {{.name = "encrypted_content", .kinds = kString, .required = true}};
  static const FieldTable table(kFields);
  if (auto fine = table.check(item, path); !fine) return fine;
  const auto content = item.find("encrypted_content");
  if (summary_in(content.as_string())) return {};
  auto where = Path{&path, "encrypted_content"}.text();
  return fail(errc::bad_value,
              fmt::format("'{}' is {}, which is not from this API: only 'POST responses/compact' of corral makes texts "
                          "that it can read. Send the messages themselves",
                          where, content.excerpt()),
              where);
}

Result<> check_item(View item, const Path& path) {
  static constexpr Field kType{.name = "type", .kinds = kString};
  if (const auto type = item.find("type"); !type.is_null()) {
    if (auto fine = check_value(type, kType, {&path, "type"}); !fine) return fine;
  }
  switch (item_of(item)) {
    case Item::message:
      return check_message(item, path);
    case Item::function_call:
      return check_call(item, path);
    case Item::custom_call:
      return check_custom_call(item, path);
    case Item::function_output:
    case Item::custom_output:
      return check_output(item, path);
    case Item::reasoning:
      return check_reasoning(item, path);
    case Item::reference:
      return check_reference(item, path);
    case Item::compaction:
      return check_compacted(item, path);
    case Item::foreign:
      break;
  }
  return {};
}

Result<> check_kept_item(View item, const Path& path) {
  if (item_of(item) != Item::reference) return check_item(item, path);
  auto where = Path{&path, "type"}.text();
  return fail(errc::unsupported_value,
              fmt::format("'{}' cannot be \"item_reference\" here: send the item itself", where), where);
}

}  // namespace

Result<> check_kept_items(View items, const Path& path) { return check_each(items, path, check_kept_item); }

Result<> check_items(View input, const Path& path) {
  return input.is_array() ? check_each(input, path, check_item) : Result<>();
}

}  // namespace corral::protocol
