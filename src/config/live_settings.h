// The settings of a server that runs: which values count, what may change them, and what only the next start can.
//
//   flag > variable > set value > file > default
//
// A set value is what `POST /internal/set` said; they are kept in settings.json of state_dir. What a flag or a variable
// says stays for the whole run, so setting such a key is refused instead of having no effect.
//
// On any thread. A mutex guards the values; whoever sets or reads again holds it while a small file is read or written.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/option.h"
#include "config/sources.h"

namespace corral::config {

class LiveSettings {
 public:
  using Settings = std::shared_ptr<const ServeSettings>;

  // Reads every source. A file of set values that nobody can make sense of is put aside, and the log says so.
  // Errors: those of load_serve_settings().
  static Result<std::unique_ptr<LiveSettings>> open(Inputs inputs);

  // What counts now: values that need a restart are those of the start.
  Settings in_force() const;
  // What a restart would begin with.
  Settings wanted() const;
  // Why the configuration file doesn't count as it stands; empty when it does.
  std::string problem() const;
  // The configuration file, whether it is there or not.
  const std::filesystem::path& file() const { return file_.path; }
  std::filesystem::path set_values_file() const { return in_force()->set_values_file(); }

  // Sets all of them, or none; null takes a set value back. Returns the rows in the order of `values`, which may have
  // kept their value. Errors: unknown_key, invalid_value, unsafe_bind, fixed_at_start, not_saved.
  Result<std::vector<const Option*>> set(const SetValues& values);

  enum class Gone { keeps_the_values, counts_as_empty };
  // Reads the configuration file again. If it is broken the values stay as they are and problem() says why. True: some
  // value changed. `gone`: what a missing file means, if it may be missing at all.
  bool reread(Gone gone);

  // A value of one of the two above as to_json() gives it; a number that was set for what has a unit stays a number.
  json::Value shown(const Option& option, const ServeSettings& settings) const;

  // Called after every change that counts at once, on the thread that made it. Set it before anybody else may call.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

 private:
  LiveSettings(Sources sources, ConfigFile file, ServeSettings settings);
  bool has_key_file() const;
  // Puts what the file says now into `sources`, and what comes of them.
  Result<ServeSettings> with_file(Sources& sources) const;
  // What would count now if `settings` were wanted. Errors: unsafe_bind, since where it listens stays.
  Result<ServeSettings> in_force_with(const ServeSettings& settings) const;
  // True when a value that counts at once is another one now.
  bool take(Sources sources, ServeSettings wanted, ServeSettings in_force);

  const ConfigFile file_;
  std::function<void()> changed_;

  mutable std::mutex mutex_;
  Sources sources_;
  Settings in_force_;
  Settings wanted_;
  std::string problem_;
};

// A value in JSON: numbers and switches as such, everything else as its text. A number where a text would do
// (max_loaded_models) is a number.
json::Value to_json(const Option& option, const ServeSettings& settings);

}  // namespace corral::config
