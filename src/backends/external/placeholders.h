// What may stand in words of a command, in variables and in headers of a descriptor, and what it comes to. The
// spellings of llama-swap are taken as well: ${PORT}, ${MODEL_ID}, ${env.NAME}. A placeholder is put in as it is: it is
// never split, and what it stands for isn't looked at again. Pure.
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
  std::map<std::string, std::string, std::less<>> texts;                    // without one: it has no value
  std::map<std::string, std::vector<std::string>, std::less<>> lists;       // words of their own: "{args}"
  std::function<std::optional<std::string>(std::string_view)> environment;  // {env.NAME}
};

struct Placeholder {
  std::string_view name;
  std::string_view meaning;
};
std::span<const Placeholder> placeholders();

// The name of one in `text` that there isn't; empty: all are known. Other braces are no placeholders.
std::string unknown_placeholder(std::string_view text);
// "{model}, {port}, ..."
std::string placeholder_names();
// With llama-swap's spellings in ours.
std::string with_own_words(std::string_view text);

// Nothing: one of its placeholders has no value.
std::optional<std::string> expand(std::string_view text, const PlaceholderValues& values);
// Errors: invalid_option for a word that isn't optional and has no value; the message names it.
Result<std::vector<std::string>> expand(const Command& command, const PlaceholderValues& values);

}  // namespace corral::backends
