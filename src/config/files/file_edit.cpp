#include "config/files/file_edit.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "base/state_file.h"
#include "config/errors.h"
#include "config/options/option.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::unexpected<Error> no_place(std::string_view key, std::string_view value) {
  return fail(errc::malformed_file,
              fmt::format("no safe place for this line in the file: add {} = {} manually", key, value));
}

std::string quoted(const std::string& value) {
  std::ostringstream out;
  out << toml::toml_formatter(toml::value(value), toml::format_flags::none);
  return out.str();
}

// The offset of a parser position. Nothing if the line has non-ASCII bytes before the column, because the parser counts
// letters.
std::optional<std::size_t> offset_of(std::string_view text, const toml::source_position& place) {
  std::size_t at = 0;
  for (auto line = place.line; line > 1; --line) {
    const auto end = text.find('\n', at);
    if (end == text.npos) return std::nullopt;
    at = end + 1;
  }
  const auto columns = text.substr(at, place.column - 1);
  if (columns.size() + 1 != place.column) return std::nullopt;
  for (const char c : columns)
    if (static_cast<unsigned char>(c) >= 0x80 || c == '\n') return std::nullopt;
  return at + columns.size();
}

Result<toml::table> parsed(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return fail(errc::malformed_file,
                fmt::format("line {}: not valid TOML: {}", error.source().begin.line, error.description()));
  }
}

}  // namespace

Result<std::string> with_setting(std::string_view text, std::string_view key, const std::string& value) {
  auto table = parsed(text);
  if (!table) return std::unexpected(table.error());
  const auto line = quoted(value);
  std::vector<std::string> ways;
  if (const auto* node = table->get(key)) {
    const auto begin = offset_of(text, node->source().begin), end = offset_of(text, node->source().end);
    if (!begin || !end || *end <= *begin) return no_place(key, line);
    ways.emplace_back(text).replace(*begin, *end - *begin, line);
  } else {
    const auto added = fmt::format("{} = {}\n", key, line);
    const std::string_view between = text.empty() || text.ends_with('\n') ? "" : "\n";
    ways.push_back(fmt::format("{}{}{}", text, between, added));
    const auto mark = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    ways.emplace_back(text).insert(mark, added);
  }
  // All other values must be the same in the new text.
  table->insert_or_assign(key, value);
  for (auto& changed : ways) {
    const auto check = parsed(changed);
    if (check && *check == *table) return std::move(changed);
  }
  return no_place(key, line);
}

Result<std::optional<std::string>> setting_in(const fs::path& file, std::string_view key) {
  const auto text = read_state_file(file);
  if (!text) return std::unexpected(text.error());
  const auto table = parsed(text->value_or(""));
  if (!table) return std::unexpected(table.error());
  const auto* node = table->get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* const option = find_option(key); option != nullptr && takes_array(*option) && node->is_array()) {
    std::vector<std::string> items;
    for (const auto& item : *node->as_array()) items.push_back(item.value_or(std::string()));
    if (std::ranges::all_of(items, [](const auto& item) { return !item.empty(); })) return joined(*option, items);
  }
  if (!node->is_string()) {
    return fail(errc::malformed_file,
                fmt::format("configuration file {}: '{}' is not a string: change it manually", file.native(), key));
  }
  return node->value<std::string>();
}

Result<> write_setting(const fs::path& file, std::string_view key, const std::string& value) {
  std::error_code failure;
  auto place = fs::weakly_canonical(file, failure);
  if (failure) place = file;
  struct stat status{};
  if (::stat(place.c_str(), &status) == 0 && status.st_uid != ::geteuid())
    return fail(errc::unreadable_file, fmt::format("configuration file {}: owned by another user", file.native()));
  const auto text = read_state_file(place);
  if (!text) return std::unexpected(text.error());
  const auto changed = with_setting(text->value_or(""), key, value);
  if (!changed) {
    Error error = changed.error();
    error.message = fmt::format("configuration file {}: {}", file.native(), error.message);
    return std::unexpected(std::move(error));
  }
  return replace_user_file(place, *changed);
}

}  // namespace corral::config
