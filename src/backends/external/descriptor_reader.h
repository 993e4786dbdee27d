// Reads the values of the table in descriptor_fields.h. A separate header, because toml++ is large.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "backends/external/descriptor.h"
#include "base/error.h"

namespace corral::backends {

// Called for a key that isn't in the table: true if the caller knows it.
using OtherKey = std::function<Result<bool>(std::string_view key, const toml::node& value, const std::string& where)>;

enum class Of { recipe, model };

// Reads every key of `table` into `into`. Errors: bad_descriptor, with "FILE:LINE: key: what is wrong", and
// Error::param.
Result<> read_fields(const toml::table& table, Of of, const std::string& file, Descriptor& into,
                     const OtherKey& other = {});
// Checks rules that concern several keys.
Result<> check_whole(const Descriptor& descriptor, const std::string& where);

// Reads a whole file. Errors: bad_descriptor: it can't be read, other users may write it, or it isn't TOML.
Result<toml::table> read_own_toml(const std::filesystem::path& file);
Result<toml::table> parse_toml(std::string_view text, const std::string& name);

// Splits "a b 'c d'" into three words like a shell; nothing is run or expanded. Lines that
// begin with # are comments. Empty: a quote isn't closed.
std::optional<std::vector<std::string>> split_words(std::string_view text);
// A value as JSON; empty for dates.
std::optional<std::string> to_json(const toml::node& value);
std::optional<std::vector<std::string>> texts_of(const toml::node& value);

}  // namespace corral::backends
