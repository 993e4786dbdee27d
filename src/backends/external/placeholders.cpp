#include "backends/external/placeholders.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backends/errors.h"

namespace corral::backends {
namespace {

constexpr auto kPlaceholders = std::to_array<Placeholder>({
    {"program", "path of the program"},
    {"model", "file of the model, or its checkpoint if it has none"},
    {"id", "name of the model"},
    {"checkpoint", "checkpoint of the model's entry"},
    {"mmproj", "projector beside the model's file; no value without one"},
    {"host", "127.0.0.1"},
    {"port", "port to listen on"},
    {"other_port", "another free port, for programs that need two"},
    {"socket", "path of the Unix socket to listen on"},
    {"args", "each argument of args"},
    {"type_args", "type_args of the model's type"},
    {"ctx_size", "option of the load; no value if it is not set"},
    {"parallel", "the same"},
    {"threads", "the same"},
    {"gpu_layers", "the same"},
    {"pid", "in stop: the process ID"},
    {"program_dir", "folder of the program"},
});

constexpr std::string_view kEnvironment = "env.", kPart = "checkpoints.", kRequest = "request.";

// Letters, digits, dots, dashes and underscores, a letter first.
bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto rest = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'; };
  return !text.empty() && letter(text.front()) && std::ranges::all_of(text, rest);
}

// Calls `literal` and `placeholder` for the parts of the text, in order.
void cut(std::string_view text, auto&& literal, auto&& placeholder) {
  while (!text.empty()) {
    const auto open = text.find('{');
    const auto close = open == text.npos ? text.npos : text.find('}', open);
    if (close == text.npos) break;
    const auto name = text.substr(open + 1, close - open - 1);
    if (is_name(name)) {
      literal(text.substr(0, open));
      placeholder(name);
      text.remove_prefix(close + 1);
    } else {
      literal(text.substr(0, open + 1));
      text.remove_prefix(open + 1);
    }
  }
  literal(text);
}

bool is_known(std::string_view name) {
  for (const auto prefix : {kEnvironment, kPart, kRequest}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) return true;
  }
  return std::ranges::find(kPlaceholders, name, &Placeholder::name) != kPlaceholders.end();
}

std::optional<std::string> value_of(std::string_view name, const PlaceholderValues& values) {
  if (name.starts_with(kEnvironment)) {
    return values.environment ? values.environment(name.substr(kEnvironment.size())) : std::nullopt;
  }
  const auto found = values.texts.find(name);
  return found == values.texts.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::span<const Placeholder> placeholders() { return kPlaceholders; }

std::string placeholder_names() {
  std::string names;
  for (const auto& known : kPlaceholders) names += fmt::format("{}{{{}}}", names.empty() ? "" : ", ", known.name);
  return names + ", {env.NAME}, {checkpoints.NAME}";
}

std::string with_own_words(std::string_view text) {
  std::string own;
  while (!text.empty()) {
    const auto at = text.find("${");
    const auto end = at == text.npos ? text.npos : text.find('}', at);
    if (end == text.npos) break;
    const auto name = text.substr(at + 2, end - at - 2);
    own.append(text.substr(0, at));
    if (name == "PORT") {
      own += "{port}";
    } else if (name == "MODEL_ID") {
      own += "{id}";
    } else if (name == "PID") {
      own += "{pid}";
    } else {
      own.append("{").append(name).append("}");
    }
    text.remove_prefix(end + 1);
  }
  return own.append(text);
}

std::string unknown_placeholder(std::string_view text) {
  std::string unknown;
  const auto own = with_own_words(text);
  cut(
      own, [](std::string_view) {},
      [&](std::string_view name) {
        if (unknown.empty() && !is_known(name)) unknown = name;
      });
  return unknown;
}

std::optional<std::string> expand(std::string_view text, const PlaceholderValues& values) {
  std::string whole;
  bool complete = true;
  const auto own = with_own_words(text);
  cut(
      own, [&](std::string_view literal) { whole.append(literal); },
      [&](std::string_view name) {
        const auto value = value_of(name, values);
        if (value) whole.append(*value);
        complete = complete && value.has_value();
      });
  if (!complete) return std::nullopt;
  return whole;
}

Result<std::vector<std::string>> expand(const Command& command, const PlaceholderValues& values) {
  std::vector<std::string> words;
  for (const auto& part : command) {
    std::vector<std::string> of_part;
    bool complete = true;
    for (const auto& word : part.words) {
      const auto own = with_own_words(word);
      const auto list = own.size() > 2 && own.front() == '{' && own.back() == '}'
                            ? values.lists.find(std::string_view(own).substr(1, own.size() - 2))
                            : values.lists.end();
      if (list != values.lists.end()) {
        for (const auto& one : list->second) {
          auto expanded = expand(one, values);
          if (expanded) of_part.push_back(std::move(*expanded));
          complete = complete && expanded.has_value();
        }
        continue;
      }
      auto expanded = expand(own, values);
      if (!expanded && !part.optional)
        return fail(errc::invalid_option, fmt::format("the argument '{}' of the command has no value", word));
      complete = complete && expanded.has_value();
      if (expanded) of_part.push_back(std::move(*expanded));
    }
    if (complete || !part.optional) std::ranges::move(of_part, std::back_inserter(words));
  }
  return words;
}

}  // namespace corral::backends
