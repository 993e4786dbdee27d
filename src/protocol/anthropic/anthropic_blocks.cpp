// Messages of Anthropic's bodies and their blocks. Blocks nest at most three deep (a message, the result of a tool, a
// document in it).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocol/anthropic/anthropic_fields.h"
#include "protocol/anthropic/anthropic_rules.h"
#include "protocol/errors.h"
#include "protocol/media.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

// Places of blocks.
enum Place : unsigned { kUser = 1, kAssistant = 2, kSystem = 4, kResult = 8, kDocument = 16 };

std::string_view name_of(Place place) {
  switch (place) {
    case kUser:
      return "a message of the user";
    case kAssistant:
      return "a message of the assistant";
    case kSystem:
      return "a system prompt";
    case kResult:
      return "the result of a tool";
    case kDocument:
      break;
  }
  return "a document";
}

std::unexpected<Error> refuse(errc cause, const Path& path, std::string_view name, std::string reason) {
  auto where = Path{&path, name}.text();
  return fail(cause, fmt::format("'{}' {}", where, reason), where);
}

Result<> check_image(View block, const Path& path);
Result<> check_document(View block, const Path& path);
Result<> check_result_content(View content, const Path& path);
Result<> check_texts(View content, const Path& path);

// Fields of each kind of block.
constexpr Field kTextFields[] = {{.name = "text", .kinds = kString, .required = true}};
constexpr Field kImageFields[] = {{.name = "source", .kinds = kObject, .required = true, .inside = check_image}};
constexpr Field kDocumentFields[] = {
    {.name = "source", .kinds = kObject, .required = true, .inside = check_document},
    {.name = "title", .kinds = kString},
    {.name = "context", .kinds = kString},
};
constexpr Field kSearchFields[] = {
    {.name = "source", .kinds = kString},
    {.name = "title", .kinds = kString},
    {.name = "content",
     .kinds = kArray,
     .required = true,
     .max_size = kMaxParts,
     .elements = kObject,
     .inside = check_texts,
     .instead = "join them"},
};
constexpr Field kUseFields[] = {
    {.name = "id", .kinds = kString, .required = true, .max_bytes = kMaxFunctionName},
    {.name = "name", .kinds = kString, .required = true, .min_size = 1, .max_bytes = kMaxFunctionName},
    {.name = "input", .kinds = kObject, .required = true},
};
constexpr Field kResultFields[] = {
    {.name = "tool_use_id", .kinds = kString, .required = true, .max_bytes = kMaxFunctionName},
    {.name = "content",
     .kinds = kString | kArray,
     .max_size = kMaxParts,
     .elements = kObject,
     .inside = check_result_content,
     .instead = "join them"},
    {.name = "is_error", .kinds = kBoolean},
};
constexpr Field kThinkingFields[] = {{.name = "thinking", .kinds = kString, .required = true}};

template <const auto& Fields>
const FieldTable& table() {
  static const FieldTable made(Fields);
  return made;
}

struct BlockRow {
  std::string_view type;
  Block block;
  unsigned places;
  const FieldTable& (*fields)() = nullptr;
};
constexpr auto kBlocks = std::to_array<BlockRow>({
    {"text", Block::text, kUser | kAssistant | kSystem | kResult | kDocument, table<kTextFields>},
    {"image", Block::image, kUser | kResult | kDocument, table<kImageFields>},
    {"document", Block::document, kUser | kResult, table<kDocumentFields>},
    {"search_result", Block::search_result, kUser | kResult, table<kSearchFields>},
    {"tool_use", Block::tool_use, kAssistant, table<kUseFields>},
    {"tool_result", Block::tool_result, kUser, table<kResultFields>},
    {"thinking", Block::thinking, kAssistant, table<kThinkingFields>},
    {"redacted_thinking", Block::redacted_thinking, kAssistant},
    // Blocks of Anthropic's own tools.
    {"server_tool_use", Block::foreign, kAssistant},
    {"web_search_tool_result", Block::foreign, kAssistant | kUser},
    {"web_fetch_tool_result", Block::foreign, kAssistant | kUser},
    {"code_execution_tool_result", Block::foreign, kAssistant | kUser},
    {"bash_code_execution_tool_result", Block::foreign, kAssistant | kUser},
    {"text_editor_code_execution_tool_result", Block::foreign, kAssistant | kUser},
    {"tool_search_tool_result", Block::foreign, kAssistant | kUser},
    {"mcp_tool_use", Block::foreign, kAssistant},
    {"mcp_tool_result", Block::foreign, kAssistant | kUser},
    {"container_upload", Block::foreign, kAssistant | kUser},
    {"advisor_tool_result", Block::foreign, kAssistant | kUser},
    {"tool_reference", Block::foreign, kResult},
    {"browser_state", Block::foreign, kResult},
    {"compaction", Block::foreign, kAssistant | kUser},
    {"tool_addition", Block::foreign, kAssistant | kUser | kSystem},
    {"tool_removal", Block::foreign, kAssistant | kUser | kSystem},
    {"mcp_tool_listing", Block::foreign, kAssistant | kUser},
    {"fallback", Block::foreign, kAssistant | kUser},
});

const BlockRow* row_of(std::string_view type) {
  const auto row = std::ranges::find(kBlocks, type, &BlockRow::type);
  return row == kBlocks.end() ? nullptr : &*row;
}

// The valid kinds at this place, for messages.
std::string known_at(Place place) {
  std::string names;
  for (const auto& row : kBlocks) {
    if ((row.places & place) == 0 || row.block == Block::foreign) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", row.type);
  }
  return names;
}

Result<> check_block(View block, const Path& path, Place place) {
  static constexpr Field kTypeField{.name = "type", .kinds = kString};
  const auto type = block.find("type");
  if (type.is_null()) return refuse(errc::missing_field, path, "type", "is required: " + known_at(place));
  if (auto fine = check_value(type, kTypeField, {&path, "type"}); !fine) return fine;
  const auto* row = row_of(type.as_string());
  if (row == nullptr || (row->places & place) == 0) {
    return refuse(errc::bad_value, path, "type",
                  fmt::format("must be one of {} in {}, not {}", known_at(place), name_of(place), type.excerpt()));
  }
  return row->fields != nullptr ? row->fields().check(block, path) : Result<>();
}

Result<> check_blocks(View blocks, const Path& path, Place place) {
  Result<> result;
  std::size_t at = 0;
  blocks.each_element([&](View block) {
    result = check_block(block, Path{&path, {}, at++}, place);
    return result.has_value();
  });
  return result;
}

Result<> check_image(View source, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true, .choices = "base64|url|file"},
      {.name = "media_type", .kinds = kString, .max_bytes = 128},
      {.name = "data", .kinds = kString},
      {.name = "url", .kinds = kString},
  };
  if (auto fine = table<kFields>().check(source, path); !fine) return fine;
  const auto type = source.find("type").as_string();
  if (type == "file")
    return refuse(errc::unsupported_value, path, "type", "cannot be \"file\": files are not stored, send base64");
  for (const auto* name : {"media_type", "data"}) {
    if (type == "base64" && source.find(name).is_null())
      return refuse(errc::missing_field, path, name, "is required: a string");
  }
  if (type == "url") {
    const auto url = source.find("url");
    if (url.is_null()) return refuse(errc::missing_field, path, "url", "is required: a string");
    return check_picture_url(url, {&path, "url"});
  }
  if (auto fine = check_picture_type(source.find("media_type"), {&path, "media_type"}); !fine) return fine;
  return check_picture_data(source.find("data"), {&path, "data"});
}

Result<> check_document_content(View content, const Path& path) { return check_blocks(content, path, kDocument); }

Result<> check_document(View source, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "type", .kinds = kString, .required = true, .choices = "text|content|base64|url|file"},
      {.name = "data", .kinds = kString},
      {.name = "content",
       .kinds = kString | kArray,
       .max_size = kMaxParts,
       .elements = kObject,
       .inside = check_document_content,
       .instead = "join them"},
  };
  if (auto fine = table<kFields>().check(source, path); !fine) return fine;
  const auto type = source.find("type").as_string();
  if (type != "text" && type != "content") {
    return refuse(
        errc::unsupported_value, path, "type",
        fmt::format("cannot be \"{}\": documents are read as text, so send the text with the type \"text\"", type));
  }
  const auto* const needed = type == "text" ? "data" : "content";
  if (source.find(needed).is_null()) return refuse(errc::missing_field, path, needed, "is required: the text");
  return {};
}

Result<> check_result_content(View content, const Path& path) { return check_blocks(content, path, kResult); }
Result<> check_texts(View content, const Path& path) { return check_blocks(content, path, kSystem); }

Result<> check_turn(View message, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "role", .kinds = kString, .required = true, .choices = "user|assistant|system"},
      {.name = "content",
       .kinds = kString | kArray,
       .required = true,
       .max_size = kMaxParts,
       .elements = kObject,
       .instead = "join them"},
  };
  if (auto fine = table<kFields>().check(message, path); !fine) return fine;
  const auto role = message.find("role").as_string();
  const auto place = role == "user" ? kUser : role == "assistant" ? kAssistant : kSystem;
  return check_blocks(message.find("content"), Path{&path, "content"}, place);
}

}  // namespace

Block block_of(std::string_view type) {
  const auto* row = row_of(type);
  return row == nullptr ? Block::unknown : row->block;
}

Result<> check_turns(View messages, const Path& path) {
  if (const auto values = messages.values(); values > kMaxMessageValues) {
    auto where = path.text();
    return fail(errc::bad_value,
                fmt::format("'{}' has {} JSON values in all, at most {} are allowed: omit old ones", where, values,
                            kMaxMessageValues),
                where);
  }
  return check_each(messages, path, check_turn);
}

Result<> check_system(View blocks, const Path& path) { return check_blocks(blocks, path, kSystem); }

}  // namespace corral::protocol
