#include "cli/server/answer_fields.h"

#include <cmath>

#include "cli/errors.h"

namespace corral::cli {

Result<json::Value> parse_answer(std::string_view text) {
  auto value = json::parse(text);
  if (!value) return fail(errc::bad_answer, "the server's response is not JSON: " + value.error().message);
  return value;
}

std::string text_of(const json::Value& object, std::string_view name) {
  return std::string(json::text_or(object, name, {}));
}

bool flag_of(const json::Value& object, std::string_view name) { return json::bool_or(object, name, false); }

std::optional<double> number_of(const json::Value& object, std::string_view name) {
  const auto* value = json::find(object, name);
  if (!value || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

std::optional<std::int64_t> integer_of(const json::Value& object, std::string_view name) {
  const auto number = number_of(object, name);
  if (!number || std::abs(*number) > 9e15) return std::nullopt;
  return std::llround(*number);
}

std::optional<std::uint64_t> bytes_of(const json::Value& object, std::string_view name) {
  const auto integer = integer_of(object, name);
  return integer && *integer >= 0 ? std::optional(static_cast<std::uint64_t>(*integer)) : std::nullopt;
}

std::vector<std::string> names_of(const json::Value& object, std::string_view name) {
  std::vector<std::string> names;
  const auto* value = json::find(object, name);
  const auto* array = value ? value->if_array() : nullptr;
  if (!array) return names;
  for (const json::Value& item : *array) {
    if (const auto* text = item.if_string()) names.emplace_back(text->data(), text->size());
  }
  return names;
}

}  // namespace corral::cli
