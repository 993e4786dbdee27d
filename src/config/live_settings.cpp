#include "config/live_settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "config/errors.h"
#include "config/options/assign.h"
#include "config/options/close_keys.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownKey = 64;  // bytes of an unknown key in messages

Error unknown(std::string_view key) {
  std::string shown(key.substr(0, kShownKey));
  const auto hint = did_you_mean(closest_key(shown));
  return {make_error_code(errc::unknown_key), fmt::format("unknown setting '{}'{}", shown, hint), std::move(shown)};
}

Result<> check_settable(const Option& option, const ServeSettings& settings) {
  const std::string key(option.key);
  if (!option.settable)
    return fail(errc::fixed_at_start,
                fmt::format("'{}' is the location of saved settings: give it as {} or {}", key, flag_of(option),
                            variable_of(option)),
                key);
  const Origin& origin = settings.origins.at(key);
  if (origin.source < Source::environment) return {};
  return fail(
      errc::fixed_at_start,
      fmt::format(
          "'{}' was given as {} at start, which overrides saved settings: restart without it, or with another value",
          key, origin.where),
      key);
}

Result<> check_value(const Option& option, const json::Value& value, const Paths& paths) {
  auto texts = texts_of(option, value, option.key);
  if (!texts) return std::unexpected(texts.error());
  ServeSettings scratch;
  return assign(option, {std::move(*texts), {Source::set, ""}, {}}, paths, scratch);
}

}  // namespace

Result<std::unique_ptr<LiveSettings>> LiveSettings::open(Inputs inputs) {
  std::optional<Error> broken;
  auto sources = read_sources(inputs, UnknownKeys::are_errors, &broken);
  if (!sources) return std::unexpected(sources.error());
  auto settings = resolve(*sources);
  if (!settings) return std::unexpected(settings.error());
  if (broken) {
    const fs::path aside = set_aside(settings->set_values_file());
    log::error("config", "saved settings cannot be read and are ignored: {}; {}", broken->message,
               aside.empty() ? "the file stays in place" : "the file was renamed to " + aside.native());
  }
  auto file = config_file(sources->inputs, sources->paths);
  return std::unique_ptr<LiveSettings>(new LiveSettings(std::move(*sources), std::move(file), std::move(*settings)));
}

LiveSettings::LiveSettings(Sources sources, ConfigFile file, ServeSettings settings)
    : file_(std::move(file)),
      sources_(std::move(sources)),
      in_force_(std::make_shared<const ServeSettings>(std::move(settings))),
      wanted_(in_force_) {}

LiveSettings::Settings LiveSettings::in_force() const {
  const MutexLock lock(mutex_);
  return in_force_;
}

LiveSettings::Settings LiveSettings::wanted() const {
  const MutexLock lock(mutex_);
  return wanted_;
}

std::string LiveSettings::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

Result<ServeSettings> LiveSettings::in_force_with(const ServeSettings& settings) const {
  auto next = *in_force_;
  next.has_key_file = settings.has_key_file;
  for (const Option& option : options()) {
    if (option.applies != Applies::at_restart) copy_value(option, settings, next);
  }
  if (const auto safe = check_bind(next); !safe) return std::unexpected(safe.error());
  return next;
}

bool LiveSettings::take(Sources sources, ServeSettings wanted, ServeSettings in_force) {
  const auto differs = [&](const Option& option) REQUIRES(mutex_) { return !same_value(option, *in_force_, in_force); };
  const bool changed = std::ranges::any_of(options(), differs);
  sources_ = std::move(sources);
  in_force_ = std::make_shared<const ServeSettings>(std::move(in_force));
  wanted_ = std::make_shared<const ServeSettings>(std::move(wanted));
  return changed;
}

Result<std::vector<const Option*>> LiveSettings::set(const SetValues& values) {
  std::vector<const Option*> rows;
  bool changed = false;
  {
    const MutexLock lock(mutex_);
    Sources next = sources_;
    next.has_key_file = has_key_file();
    for (const auto& [key, value] : values) {
      const Option* option = find_option(key);
      if (!option) return std::unexpected(unknown(key));
      if (auto fine = check_settable(*option, *wanted_); !fine) return std::unexpected(fine.error());
      rows.push_back(option);
      if (value.is_null()) {
        next.set.erase(key);
        continue;
      }
      if (auto fine = check_value(*option, value, sources_.paths); !fine) return std::unexpected(fine.error());
      next.set[key] = value;
    }
    auto settings = resolve(next);
    if (!settings) return std::unexpected(settings.error());
    auto in_force = in_force_with(*settings);
    if (!in_force) return std::unexpected(in_force.error());
    if (next.set != sources_.set) {
      const auto saved = write_state_file(in_force_->set_values_file(), to_text(next.set));
      if (!saved) return fail(errc::not_saved, fmt::format("nothing was set: {}", saved.error().message));
    }
    changed = take(std::move(next), std::move(*settings), std::move(*in_force));
  }
  if (changed && changed_) changed_();
  return rows;
}

bool LiveSettings::has_key_file() const {
  std::error_code ignored;
  return fs::exists(in_force_->keys_file(), ignored);
}

Result<ServeSettings> LiveSettings::with_file(Sources& sources) const {
  auto file = read_file(file_.path, sources.paths, file_.missing, UnknownKeys::are_errors);
  if (!file) return std::unexpected(file.error());
  sources.file = std::move(*file);
  return resolve(sources);
}

bool LiveSettings::reread(Gone gone) {
  bool changed = false;
  {
    const MutexLock lock(mutex_);
    std::error_code ignored;
    const bool missing = !fs::exists(file_.path, ignored);
    if (missing && file_.missing == MissingFile::is_fine && gone == Gone::keeps_the_values) return false;
    Sources next = sources_;
    next.has_key_file = has_key_file();
    auto settings = with_file(next);
    auto in_force = settings ? in_force_with(*settings) : settings;
    if (!in_force) {
      if (problem_ != in_force.error().message)
        log::error("config", "{}; the old values stay", in_force.error().message);
      problem_ = in_force.error().message;
      return false;
    }
    problem_.clear();
    for (const Option& option : options()) {
      if (same_value(option, *wanted_, *settings)) continue;
      log::info("config", "{} is {} now ({}{})", option.key, fmt::join(value_texts(option, *settings), ":"),
                settings->origins.at(std::string(option.key)).where,
                option.applies == Applies::at_restart ? "; takes effect after a restart" : "");
    }
    changed = take(std::move(next), std::move(*settings), std::move(*in_force));
  }
  if (changed && changed_) changed_();
  return changed;
}

json::Value LiveSettings::shown(const Option& option, const ServeSettings& settings) const {
  const MutexLock lock(mutex_);
  const auto set = sources_.set.find(option.key);
  const bool counts = set != sources_.set.end() && settings.origins.at(std::string(option.key)).source == Source::set &&
                      same_value(option, settings, *wanted_);
  const bool keeps_its_kind = counts && (set->second.is_number() || (option.several_words && set->second.is_array()));
  return keeps_its_kind && !option.secret ? set->second : to_json(option, settings);
}

json::Value to_json(const Option& option, const ServeSettings& settings) {
  const auto texts = value_texts(option, settings);
  if (is_list(option)) return json::Array(texts.begin(), texts.end());
  const std::string& text = texts.front();
  if (std::holds_alternative<bool ServeSettings::*>(option.field)) return text == "true";
  const bool number = option.several_words || std::holds_alternative<int ServeSettings::*>(option.field) ||
                      std::holds_alternative<double ServeSettings::*>(option.field);
  if (!number || text == option.zero_name) return json::Value(text);
  return json::parse(text).value_or(json::Value(text));
}

}  // namespace corral::config
