#include "config/files/file.h"

#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/path_access.h"
#include "base/state_file.h"
#include "config/errors.h"
#include "config/options/close_keys.h"
#include "json/value.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

// In the form of the command line; nullopt for dates and nested values.
std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

std::optional<std::vector<std::string>> texts_of(const Option& option, const toml::node& node) {
  if (const auto* table = node.as_table(); table != nullptr && option.table) {
    std::ostringstream text;
    text << toml::json_formatter{*table,
                                 toml::format_flags::quote_dates_and_times | toml::format_flags::allow_unicode_strings};
    const auto object = json::parse(text.str());
    return object ? std::optional(std::vector{json::serialize(*object)}) : std::nullopt;
  }
  const auto* array = node.as_array();
  if (!array) {
    const auto text = scalar(node);
    return text ? std::optional(std::vector{*text}) : std::nullopt;
  }
  if (!takes_array(option)) return std::nullopt;
  std::vector<std::string> texts;
  for (const toml::node& item : *array) {
    const auto text = scalar(item);
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  if (is_list(option)) return texts;
  if (!are_items(option, texts)) return std::nullopt;
  return std::vector{joined(option, texts)};
}

std::unexpected<Error> unknown_key(const std::string& where, std::string_view key) {
  const auto hint = did_you_mean(closest_key(key));
  return fail(errc::unknown_key, fmt::format("{}: unknown setting '{}'{}", where, key, hint), std::string(key));
}

}  // namespace

Result<FileValues> read_file(const fs::path& path, const Paths& paths, MissingFile missing, UnknownKeys unknown) {
  const std::string name = paths.shorten(path);
  std::error_code status_error;
  const fs::file_status status = fs::status(path, status_error);
  if (status.type() == fs::file_type::not_found && missing == MissingFile::is_fine) return FileValues{};
  const auto text = read_state_file(path);
  if (!text || !*text) {
    std::string reason = status.type() == fs::file_type::not_found ? "no such file" : "cannot be read";
    const auto problem = find_access_problem(path, this_user());
    if (problem && status.type() == fs::file_type::regular) {  // it may have a key, so not for everyone
      reason += fmt::format(": {}: give the file to a group of that user (chgrp), and run chmod 640 {}",
                            problem->reason, path.native());
    } else if (problem && status.type() != fs::file_type::not_found) {
      reason += ": " + problem->text();
    }
    return fail(errc::unreadable_file, fmt::format("configuration file {}: {}", name, reason));
  }
  toml::table table;
  try {
    table = toml::parse(std::string_view(**text), path.string());
  } catch (const toml::parse_error& error) {
    const auto& place = error.source().begin;
    return fail(errc::malformed_file, fmt::format("{}:{}:{}: not valid TOML: {}: correct this line", name, place.line,
                                                  place.column, error.description()));
  }

  FileValues values;
  for (const auto& [key, node] : table) {
    const std::string where = fmt::format("{}:{}", name, key.source().begin.line);
    const Option* option = find_option(key.str());
    if (!option) {
      if (unknown == UnknownKeys::are_ignored) continue;
      return unknown_key(where, key.str());
    }
    auto texts = texts_of(*option, node);
    if (!texts) {
      return fail(errc::invalid_value,
                  fmt::format("{}: {}: the value is not {}", where, key.str(), expectation(*option)),
                  std::string(key.str()));
    }
    values[std::string(key.str())] = {std::move(*texts), {Source::file, where}, fs::absolute(path).parent_path()};
  }
  return values;
}

}  // namespace corral::config
