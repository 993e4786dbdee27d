// Placeholders in command words, variables and headers of a descriptor, and their values. The spellings of llama-swap
// are accepted too: ${PORT}, ${MODEL_ID}, ${env.NAME}. A value is inserted as it is: it is never split or expanded
// again. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/external/descriptor.h"
#include "base/error.h"

namespace corral::backends {

struct PlaceholderValues {
  std::map<std::string, std::string, std::less<>> texts;                    // a missing key: no value
  std::map<std::string, std::vector<std::string>, std::less<>> lists;       // several words: "{args}"
  std::function<std::optional<std::string>(std::string_view)> environment;  // {env.NAME}
};

struct Placeholder {
  std::string_view name;
  std::string_view meaning;
};
std::span<const Placeholder> placeholders();

// The first unknown placeholder in `text`; empty: all are known. Other braces are no placeholders.
std::string unknown_placeholder(std::string_view text);
// "{model}, {port}, ..."
std::string placeholder_names();
// Converts llama-swap's spellings.
std::string with_own_words(std::string_view text);

// Empty: one of its placeholders has no value.
std::optional<std::string> expand(std::string_view text, const PlaceholderValues& values);
// Errors: invalid_option if a required word has no value; the message names it.
Result<std::vector<std::string>> expand(const Command& command, const PlaceholderValues& values);

}  // namespace corral::backends
