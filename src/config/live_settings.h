// The settings of a running server: values in force, changes of them, and values that need a restart.
//
//   flag > variable > set value > file > default
//
// A set value comes from `POST /internal/set`; set values are stored in settings.json of state_dir. A flag or variable
// stays for the whole run, so setting such a key is an error instead of having no effect.
//
// On any thread. A mutex guards the values; it is held while a small file is read or written.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "config/options/option.h"
#include "config/sources.h"

namespace corral::config {

class LiveSettings {
 public:
  using Settings = std::shared_ptr<const ServeSettings>;

  // Reads every source. An unreadable file of set values is renamed and logged. Errors: those of load_serve_settings().
  static Result<std::unique_ptr<LiveSettings>> open(Inputs inputs);

  // Values in force: values that need a restart are those of the start.
  Settings in_force() const;
  // Values after a restart.
  Settings wanted() const;
  // Why the configuration file is ignored; empty: it is used.
  std::string problem() const;
  // The configuration file, which may be missing.
  const std::filesystem::path& file() const { return file_.path; }
  std::filesystem::path set_values_file() const { return in_force()->set_values_file(); }

  // Sets all values, or none; null removes a set value. Returns the rows in the order of `values`; some may be
  // unchanged. Errors: unknown_key, invalid_value, unsafe_bind, fixed_at_start, not_saved.
  Result<std::vector<const Option*>> set(const SetValues& values);

  enum class Gone { keeps_the_values, counts_as_empty };
  // Reads the configuration file again. If it is invalid the values stay, and problem() has the error. True: some value
  // changed. `gone`: the meaning of a missing file, if it may be missing.
  bool reread(Gone gone);

  // A value of in_force() or wanted() in the form of to_json(); a value with a unit that was set as a number stays a
  // number.
  json::Value shown(const Option& option, const ServeSettings& settings) const;

  // Called after every change that takes effect at once, on the thread that made it. Set it before other threads use
  // this object.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

 private:
  LiveSettings(Sources sources, ConfigFile file, ServeSettings settings);
  bool has_key_file() const REQUIRES(mutex_);
  // Puts the file's current values into `sources`, and returns the resulting settings.
  Result<ServeSettings> with_file(Sources& sources) const;
  // The values in force if `settings` were wanted. Errors: unsafe_bind, because the listening address stays.
  Result<ServeSettings> in_force_with(const ServeSettings& settings) const REQUIRES(mutex_);
  // True: a value that takes effect at once has changed.
  bool take(Sources sources, ServeSettings wanted, ServeSettings in_force) REQUIRES(mutex_);

  const ConfigFile file_;
  std::function<void()> changed_;

  mutable Mutex mutex_;
  Sources sources_ GUARDED_BY(mutex_);
  Settings in_force_ GUARDED_BY(mutex_);
  Settings wanted_ GUARDED_BY(mutex_);
  std::string problem_ GUARDED_BY(mutex_);
};

// A value in JSON: numbers and switches as such, everything else as its text. A number whose option takes texts
// (max_loaded_models) is a number.
json::Value to_json(const Option& option, const ServeSettings& settings);

}  // namespace corral::config
