#include "cli/chat/chat_settings.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/close_names.h"
#include "base/state_file.h"
#include "cli/errors.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/fields.h"

namespace corral::cli {
namespace {

constexpr std::size_t kLargestSchema = std::size_t{512} * 1024;

// The chat sends these itself.
constexpr std::array<std::string_view, 5> kOwn = {"model", "messages", "stream", "stream_options", "n"};

// Names of the same options in Ollama.
struct OtherName {
  std::string_view name;
  std::string_view field;
};
constexpr std::array<OtherName, 3> kOtherNames = {{
    {"num_predict", "max_completion_tokens"},
    {"num_ctx", "ctx_size"},
    {"num_keep", "n_keep"},
}};

std::string_view field_of(std::string_view name) {
  const auto other = std::ranges::find(kOtherNames, name, &OtherName::name);
  return other == kOtherNames.end() ? name : other->field;
}

bool is_own(std::string_view name) { return std::ranges::find(kOwn, name) != kOwn.end(); }

std::string as_string(std::string_view text) {
  std::string json;
  json::append_quoted(json, text);
  return json;
}

Result<> check(const protocol::Field& field, const std::string& json) {
  const auto value = json::Peek::open(json);
  if (!value) return std::unexpected(value.error());
  const protocol::Path body;
  return protocol::check_value(value->root(), field, {&body, field.name});
}

}  // namespace

std::vector<std::string> settable_fields() {
  std::vector<std::string> names;
  for (const protocol::Field& field : protocol::chat_fields().fields()) {
    if (!is_own(field.name)) names.emplace_back(field.name);
  }
  return names;
}

void ChatSettings::put(std::string name, std::string json) {
  const auto known = std::ranges::find(fields_, name, &Fields::value_type::first);
  if (known != fields_.end()) {
    known->second = std::move(json);
  } else {
    fields_.emplace_back(std::move(name), std::move(json));
  }
}

Result<> ChatSettings::set(std::string_view name, std::string_view value) {
  const protocol::Field* const field = protocol::chat_fields().find(field_of(name));
  if (field == nullptr || is_own(field->name)) {
    const auto close = close_names(name, settable_fields(), 1);
    return fail(errc::usage, fmt::format("there is no option '{}' of requests{}", name,
                                         close.empty() ? "" : fmt::format("; did you mean {}?", close.front())));
  }
  std::string json(value);
  auto valid = check(*field, json);
  if (!valid) {
    std::string text = as_string(value);
    // Names of choices and texts need no quotation marks.
    if (auto as_text = check(*field, text); as_text || json::Peek::open(json).has_value() == false) {
      valid = std::move(as_text);
      json = std::move(text);
    }
  }
  if (!valid) return fail(errc::usage, valid.error().message);
  put(std::string(field->name), std::move(json));
  return {};
}

Result<> ChatSettings::set_format(const std::string& format) {
  if (format == "json") {
    put("response_format", R"({"type":"json_object"})");
    return {};
  }
  const auto text = read_state_file(format, kLargestSchema + 1);
  if (!text) return std::unexpected(text.error());
  if (!*text)
    return fail(errc::usage,
                fmt::format("there is no file '{}': the format is json, or a file with a JSON schema", format));
  if ((*text)->size() > kLargestSchema)
    return fail(errc::usage, fmt::format("'{}' has more than 512 KiB, the limit for a schema", format));
  const auto schema = json::Peek::open(**text);
  if (!schema || !schema->root().is_object())
    return fail(errc::usage,
                fmt::format("'{}' is no JSON schema: {}", format, schema ? "it is no object" : schema.error().message));
  put("response_format",
      fmt::format(R"({{"type":"json_schema","json_schema":{{"name":"answer","schema":{}}}}})", schema->root().text()));
  return {};
}

bool ChatSettings::unset(std::string_view name) {
  return std::erase_if(fields_, [field = field_of(name)](const auto& one) { return one.first == field; }) > 0;
}

}  // namespace corral::cli
