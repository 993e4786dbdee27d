#include "backends/external/descriptor_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/errors.h"
#include "backends/external/errors.h"
#include "base/state_file.h"
#include "json/writer.h"

namespace corral::backends {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

bool write(json::Writer& out, const toml::node& node) {
  if (const auto* text = node.as_string()) return out.value(text->get()), true;
  if (const auto* number = node.as_integer()) return out.value(number->get()), true;
  if (const auto* number = node.as_floating_point()) return out.value(number->get()), true;
  if (const auto* flag = node.as_boolean()) return out.value(flag->get()), true;
  bool known = true;
  if (const auto* array = node.as_array()) {
    out.begin_array();
    for (const auto& element : *array) known = write(out, element) && known;
    out.end_array();
    return known;
  }
  const auto* table = node.as_table();
  if (table == nullptr) return out.null(), false;
  out.begin_object();
  for (const auto& [key, value] : *table) {
    out.any_key(key.str());
    known = write(out, value) && known;
  }
  out.end_object();
  return known;
}

// A writer of the file can run commands as this user. Empty: only this user and root may.
std::string others_may_write(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (status.st_uid != ::getuid() && status.st_uid != 0) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others may write it, and it contains commands: run chmod go-w {}", path.native());
  return {};
}

}  // namespace

std::optional<std::vector<std::string>> texts_of(const toml::node& value) {
  std::vector<std::string> texts;
  const auto* array = value.as_array();
  if (array == nullptr) {
    auto text = scalar(value);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
    return texts;
  }
  for (const auto& element : *array) {
    auto text = scalar(element);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
  }
  return texts;
}

std::optional<std::string> to_json(const toml::node& value) {
  std::string text;
  json::Writer out(text);
  if (!write(out, value)) return std::nullopt;
  return text;
}

std::optional<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  bool line_begins = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (line_begins && c == '#') {
      at = std::min(text.find('\n', at), text.size() - 1);
      continue;
    }
    line_begins = c == '\n' || (line_begins && (c == ' ' || c == '\t'));
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else if (c == '\\' && at + 1 < text.size()) {
      // At the end of a line it only joins the next line.
      const char next = text[++at];
      if (next == '\n' || next == '\r') continue;
      word.push_back(next);
      inside = true;
    } else if (c == '\'' || c == '"') {
      inside = true;
      for (++at; at < text.size() && text[at] != c; ++at) {
        if (c == '"' && text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\')) ++at;
        word.push_back(text[at]);
      }
      if (at >= text.size()) return std::nullopt;
    } else {
      word.push_back(c);
      inside = true;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

Result<toml::table> parse_toml(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    const auto& place = error.source().begin;
    return fail(external::errc::bad_descriptor,
                fmt::format("{}:{}:{}: not valid TOML: {}", name, place.line, place.column, error.description()));
  }
}

Result<toml::table> read_own_toml(const std::filesystem::path& file) {
  const auto refused = [&](std::string_view why) {
    return fail(external::errc::bad_descriptor, fmt::format("{}: {}", file.native(), why));
  };
  for (const auto& path : {file, file.parent_path()}) {
    const auto why = others_may_write(path);
    if (!why.empty()) return fail(external::errc::bad_descriptor, fmt::format("{}: {}", path.native(), why));
  }
  const auto text = read_state_file(file, kLargestFile + 1);
  if (!text || !*text) return refused("it cannot be read");
  if ((*text)->size() > kLargestFile) return refused("it is larger than 1 MiB");
  return parse_toml(**text, file.native());
}

}  // namespace corral::backends
