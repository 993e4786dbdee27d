// One row of the table of options. Flag, environment variable, config key, help text, checks and documentation all come
// from the row; adding a setting is a member of ServeSettings and a row in options_*.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "config/serve_settings.h"

namespace corral::config {

// The member that the option fills; its type is the option's kind.
using Field =
    std::variant<std::string ServeSettings::*, int ServeSettings::*, double ServeSettings::*, bool ServeSettings::*,
                 Millis ServeSettings::*, Bytes ServeSettings::*, log::Level ServeSettings::*,
                 std::filesystem::path ServeSettings::*, std::vector<std::filesystem::path> ServeSettings::*>;

enum class Group { access, models, memory, engine, mesh, store, process };

// When a value that is changed while the server runs begins to count.
enum class Applies {
  at_restart,
  now,
  next_load,  // of each model
};
// "restart", "now", "next_load"
std::string_view name_of(Applies applies);

// Inclusive; milliseconds for durations, bytes for sizes, thousandths for fractions.
struct Range {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int32_t>::max();  // fractions have no end beyond it
  bool above = false;                                           // fractions only: `min` itself is out
};

struct Option {
  std::string_view key;  // "max_body_bytes", which is also --max-body-bytes and CORRAL_MAX_BODY_BYTES
  Group group;
  Field field;
  std::string_view fallback;      // the default, written as a user would write it
  std::string_view value_name{};  // for help: "N", "DIR"; empty for switches
  std::string_view help{};        // one or two sentences; the first one starts the line of --help
  Range range{};
  std::string_view zero_name{};                     // a word that means 0, e.g. "auto"
  std::string_view never_name{};                    // of a duration: a word that means kNever; so does "-1"
  std::string_view right{};                         // what a right text is; empty: the words of the kind
  std::span<const std::string_view> choices{};      // the only right texts; none: any
  Result<> (*check)(const std::string&) = nullptr;  // further rules for texts
  std::string_view older_flag{};                    // another flag that means the same
  bool several_lines = false;                       // a text may have line breaks
  bool several_words = false;  // a flag takes all words behind it as one text: --max-loaded-models 5 2 4
  Applies applies = Applies::at_restart;
  bool settable = true;  // by `corral config set`; false: only where the server is started
  bool secret = false;   // never printed
  bool guarded = false;  // who may come in, and where files are: over HTTP only with an admin key
};

// As the value of a duration that may be one of these.
inline constexpr Millis kNever{-1000};

// All options, in the order of the documentation.
std::span<const Option> options();
// The row of a key; nullptr for none.
const Option* find_option(std::string_view key);
// "" or the key that `key` was probably meant to be.
std::string closest_key(std::string_view key);

std::string flag_of(const Option& option);
std::string variable_of(const Option& option);
// What a right value looks like: "a whole number from 1 to 65535", "a duration such as 500ms, 2s or 5m".
std::string expectation(const Option& option);
bool is_switch(const Option& option);
bool is_list(const Option& option);
std::string_view title(Group group);

// The value as people write it: "8000", "auto", "2s", "256MiB", "~/models"... Secrets come out as "***". Several for
// lists.
std::vector<std::string> value_texts(const Option& option, const ServeSettings& settings);
bool same_value(const Option& option, const ServeSettings& a, const ServeSettings& b);
void copy_value(const Option& option, const ServeSettings& from, ServeSettings& to);

}  // namespace corral::config
