#include "dialects/ollama/fields.h"

#include <array>

#include "dialects/ollama/conversation.h"
#include "protocol/field_parts.h"
#include "protocol/media.h"
#include "protocol/rules/rules.h"

namespace corral::dialects::ollama {
namespace {

using protocol::Field;
using protocol::FieldTable;
using protocol::kArray;
using protocol::kBoolean;
using protocol::kInteger;
using protocol::kNumber;
using protocol::kObject;
using protocol::kString;
using protocol::Path;
using protocol::operator+;

constexpr auto kOptions = std::to_array<OptionRow>({
    {"num_predict", "max_tokens", true},
    {.name = "temperature", .canonical = "temperature", .min = 0, .max = 2},
    {"top_k", "top_k", true},
    {"top_p", "top_p"},
    {"min_p", "min_p"},
    {"typical_p", "typical_p"},
    {"repeat_last_n", "repeat_last_n", true},
    {"repeat_penalty", "repeat_penalty"},
    {"presence_penalty", "presence_penalty"},
    {"frequency_penalty", "frequency_penalty"},
    {"mirostat", "mirostat", true},
    {"mirostat_tau", "mirostat_tau"},
    {"mirostat_eta", "mirostat_eta"},
    {"seed", "seed", true},
});

}  // namespace

Result<> check_options(json::View options, const Path& path) {
  static constexpr auto kFields = [] {
    std::array<Field, kOptions.size() + 2> fields{};
    for (std::size_t i = 0; i < kOptions.size(); ++i) fields[i] = {.name = kOptions[i].name, .kinds = kNumber};
    fields[kOptions.size()] = {.name = "num_ctx", .kinds = kNumber, .min = 0, .max = 1 << 26};
    fields[kOptions.size() + 1] = {.name = "stop", .kinds = kString | kArray, .elements = kString};
    return fields;
  }();
  static const FieldTable table(kFields);
  return table.check(options, path);
}

namespace {

template <Result<> (*CheckOne)(json::View, const Path&)>
Result<> check_each(json::View array, const Path& path) {
  Result<> result;
  std::size_t at = 0;
  array.each_element([&](json::View element) {
    auto fine = CheckOne(element, Path{&path, {}, at++});
    if (!fine) result = std::move(fine);
    return result.has_value();
  });
  return result;
}

Result<> check_called(json::View function, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "name", .kinds = kString, .required = true, .min_size = 1},
      {.name = "arguments", .kinds = kObject},
      {.name = "index", .kinds = kInteger},
  };
  static const FieldTable table(kFields);
  return table.check(function, path);
}

Result<> check_call(json::View call, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "id", .kinds = kString},
      {.name = "function", .kinds = kObject, .required = true, .inside = check_called},
  };
  static const FieldTable table(kFields);
  return table.check(call, path);
}

// In base64 without a header, as Ollama's clients send it, or a data URL.
Result<> check_image(json::View image, const Path& path) {
  const bool is_url = image.as_string().starts_with("data:");
  return is_url ? protocol::check_picture_url(image, path) : protocol::check_picture_data(image, path);
}

constexpr Field kImages{.name = "images",
                        .kinds = kArray,
                        .max_size = protocol::kMaxMedia,
                        .elements = kString,
                        .inside = check_each<check_image>,
                        .about = "images in base64, for vision models",
                        .instead = "omit old ones"};

Result<> check_message(json::View message, const Path& path) {
  static constexpr Field kFields[] = {
      {.name = "role", .kinds = kString, .required = true, .min_size = 1},
      {.name = "content", .kinds = kString},
      {.name = "thinking", .kinds = kString},
      kImages,
      {.name = "tool_calls",
       .kinds = kArray,
       .max_size = protocol::kMaxCalls,
       .elements = kObject,
       .inside = check_each<check_call>},
      {.name = "tool_name", .kinds = kString},
      {.name = "tool_call_id", .kinds = kString},
  };
  static const FieldTable table(kFields);
  return table.check(message, path);
}

constexpr Field kModel{
    .name = "model", .kinds = kString, .max_bytes = protocol::kLongestModelName, .about = "with or without `:latest`"};
constexpr Field kKeepAlive{.name = "keep_alive", .kinds = kString | kNumber};
constexpr Field kOptionsField{.name = "options", .kinds = kObject, .inside = check_options};

constexpr auto kGenerating = std::to_array<Field>({
    kModel,
    kKeepAlive,
    kOptionsField,
    {.name = "stream", .kinds = kBoolean},
    {.name = "format", .kinds = kString | kObject, .choices = "|json"},
    {.name = "think", .kinds = kBoolean | kString, .choices = "low|medium|high"},
    {.name = "logprobs", .kinds = kBoolean},
    {.name = "top_logprobs", .kinds = kInteger, .min = 0, .max = 20},
});

}  // namespace

std::span<const OptionRow> option_rows() { return kOptions; }

const FieldTable& chat_fields() {
  static constexpr auto kFields = kGenerating + std::to_array<Field>({
                                                    {.name = "messages",
                                                     .kinds = kArray,
                                                     .max_size = protocol::kMaxMessages,
                                                     .elements = kObject,
                                                     .inside = check_each<check_message>,
                                                     .instead = "omit old ones or join them"},
                                                    {.name = "tools", .kinds = kArray},
                                                });
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& generate_fields() {
  static constexpr auto kFields = kGenerating + std::to_array<Field>({
                                                    kImages,
                                                    {.name = "prompt", .kinds = kString},
                                                    {.name = "suffix", .kinds = kString},
                                                    {.name = "system", .kinds = kString},
                                                    {.name = "template", .kinds = kString},
                                                    {.name = "context",
                                                     .kinds = kArray,
                                                     .max_size = kMaxContext,
                                                     .elements = kInteger,
                                                     .instead = "use /api/chat"},
                                                    {.name = "raw", .kinds = kBoolean},
                                                });
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& embed_fields() {
  static constexpr Field kFields[] = {
      kModel,
      kKeepAlive,
      kOptionsField,
      {.name = "input", .kinds = kString | kArray, .elements = kString},
      {.name = "truncate", .kinds = kBoolean},
      {.name = "dimensions", .kinds = kInteger},
  };
  static const FieldTable table(kFields);
  return table;
}

const FieldTable& old_embedding_fields() {
  static constexpr Field kFields[] = {
      kModel,
      kKeepAlive,
      kOptionsField,
      {.name = "prompt", .kinds = kString},
  };
  static const FieldTable table(kFields);
  return table;
}

}  // namespace corral::dialects::ollama
