// Reads members of the server's answers, and tolerates missing or wrong ones. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "json/value.h"

namespace corral::cli {

// Errors: bad_answer.
Result<json::Value> parse_answer(std::string_view text);

// Converts the parsed text with `read`. Errors: bad_answer.
template <typename Read>
auto parse_as(std::string_view text, const Read& read) -> Result<std::invoke_result_t<Read, const json::Value&>> {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  return read(*value);
}

// Empty, false or nothing if the member is missing or has another kind.
std::string text_of(const json::Value& object, std::string_view name);
bool flag_of(const json::Value& object, std::string_view name);
std::optional<double> number_of(const json::Value& object, std::string_view name);
std::optional<std::int64_t> integer_of(const json::Value& object, std::string_view name);
std::optional<std::uint64_t> bytes_of(const json::Value& object, std::string_view name);
// The texts of a list.
std::vector<std::string> names_of(const json::Value& object, std::string_view name);
// Calls use(item) for each item of a list; a missing list is empty.
void each(const json::Value& object, std::string_view name, const auto& use) {
  const auto* value = json::find(object, name);
  const auto* array = value != nullptr ? value->if_array() : nullptr;
  if (array == nullptr) return;
  for (const auto& item : *array) use(item);
}

}  // namespace corral::cli
