// One row of the table of options. Flag, environment variable, config key, help text, checks and documentation all come
// from the row. To add a setting, add a member of ServeSettings and a row in options_*.cpp.
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

// When a change at run time takes effect.
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
  std::string_view fallback;      // the default, in the user's form
  std::string_view value_name{};  // for help: "N", "DIR"; empty for switches
  std::string_view help{};        // one or two sentences; the first one starts the line of --help
  Range range{};
  std::string_view zero_name{};                     // a word that means 0, e.g. "auto"
  std::string_view never_name{};                    // of a duration: a word that means kNever; so does "-1"
  std::string_view right{};                         // the expected form; empty: that of the kind
  std::span<const std::string_view> choices{};      // the valid texts; empty: any
  Result<> (*check)(const std::string&) = nullptr;  // further rules for texts
  std::string_view older_flag{};                    // alternative name of the flag
  bool several_lines = false;                       // a text may have line breaks
  bool several_words = false;        // the flag takes all following words as one text: --max-loaded-models 5 2 4
  std::string_view array_between{};  // a text that may be an array in the file: what stands between its items
  bool table = false;                // a text that may be a table in the file: it becomes JSON
  Applies applies = Applies::at_restart;
  bool settable = true;  // by `corral config set`; false: only at the start of the server
  bool secret = false;   // never printed
  bool guarded = false;  // access and folders: over HTTP only with an admin key
};

// The value "never" of a duration.
inline constexpr Millis kNever{-1000};

// All options, in the order of the documentation.
std::span<const Option> options();
// The row of a key; nullptr: none.
const Option* find_option(std::string_view key);
// The key that `key` probably means, or "".
std::string closest_key(std::string_view key);

std::string flag_of(const Option& option);
std::string variable_of(const Option& option);
// The form of a valid value: "a whole number from 1 to 65535", "a duration such as 500ms, 2s or 5m".
std::string expectation(const Option& option);
bool is_switch(const Option& option);
bool is_list(const Option& option);
// Whether the file may have an array, which becomes one text or, for lists, several.
bool takes_array(const Option& option);
// Whether the items stay apart in one text.
bool are_items(const Option& option, const std::vector<std::string>& items);
// The text of an array's items.
std::string joined(const Option& option, const std::vector<std::string>& items);
std::string_view title(Group group);

// The value in the user's form: "8000", "auto", "2s", "256MiB", "~/models"... Secrets become "***". Several texts for
// lists.
std::vector<std::string> value_texts(const Option& option, const ServeSettings& settings);
bool same_value(const Option& option, const ServeSettings& a, const ServeSettings& b);
void copy_value(const Option& option, const ServeSettings& from, ServeSettings& to);

}  // namespace corral::config
