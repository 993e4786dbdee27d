// Reads the values of the table of descriptor_fields.h. Its own header, as toml++ is large.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "backends/external/descriptor.h"
#include "base/error.h"

namespace corral::backends {

// A key that isn't of the table: true when the caller knows it.
using OtherKey = std::function<Result<bool>(std::string_view key, const toml::node& value, const std::string& where)>;

enum class Of { recipe, model };

// Every key of `table` into `into`. Errors: bad_descriptor, with "FILE:LINE: key: what is wrong", and Error::param.
Result<> read_fields(const toml::table& table, Of of, const std::string& file, Descriptor& into,
                     const OtherKey& other = {});
// What only holds for all of it together.
Result<> check_whole(const Descriptor& descriptor, const std::string& where);

// A whole file. Errors: bad_descriptor: it can't be read, others may write it, or it isn't TOML.
Result<toml::table> read_own_toml(const std::filesystem::path& file);
Result<toml::table> parse_toml(std::string_view text, const std::string& name);

// "a b 'c d'" -> three words, as a shell would cut them; nothing is run or expanded. Nothing: a quote has no end.
std::optional<std::vector<std::string>> split_words(std::string_view text);
// A value as JSON; nothing for dates.
std::optional<std::string> to_json(const toml::node& value);
std::optional<std::vector<std::string>> texts_of(const toml::node& value);

}  // namespace corral::backends
