#include "residency/cooldown.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "residency/errors.h"

namespace corral::residency {
namespace {

// While the state of the files is unknown (0), they count as unchanged.
bool is_same(const Failure& failure, const ModelSpec& spec) {
  return failure.options == spec.options && (failure.files == spec.files || failure.files == 0 || spec.files == 0);
}

// Counts one more failure in a row; the first `tolerated` - 1 have no consequence.
void count(std::optional<Failure>& failure, const Settings& settings, int tolerated, const ModelSpec& spec,
           std::string cause, MonoTime now) {
  const int before = failure && is_same(*failure, spec) ? failure->in_a_row : 0;
  failure = Failure{.in_a_row = before + 1,
                    .cool_until = now,
                    .options = spec.options,
                    .files = spec.files,
                    .cause = std::move(cause)};
  if (failure->in_a_row < tolerated) return;
  Millis wait = settings.cooldown_first;
  for (int i = tolerated; i < failure->in_a_row && wait < settings.cooldown_max; ++i) wait *= 2;
  failure->cool_until = now + std::min(wait, settings.cooldown_max);
}

Error cooling(const std::string& what, Millis left) {
  Error error(errc::cooling_down, fmt::format("{} (retry in {} ms)", what, left.count()), "model");
  error.retry_after = std::chrono::ceil<std::chrono::seconds>(left);
  return error;
}

}  // namespace

void note_failure(std::optional<Failure>& failure, const Settings& settings, const ModelSpec& spec, std::string cause,
                  MonoTime now) {
  count(failure, settings, settings.cooldown_after, spec, std::move(cause), now);
}

void note_crash(std::optional<Failure>& crashes, const Settings& settings, const ModelSpec& spec, std::string cause,
                MonoTime now) {
  count(crashes, settings, settings.cooldown_after_crashes, spec, std::move(cause), now);
}

Millis cooling_left(const std::optional<Failure>& failure, const ModelSpec& spec, MonoTime now) {
  if (!failure || !is_same(*failure, spec) || now >= failure->cool_until) return Millis{0};
  return std::chrono::ceil<Millis>(failure->cool_until - now);
}

std::optional<Error> cooling_down(const Model& model, const ModelSpec& spec, MonoTime now) {
  const Millis failed = cooling_left(model.failure, spec, now);
  const Millis crashed = cooling_left(model.crashes, spec, now);
  if (failed == Millis{0} && crashed == Millis{0}) return std::nullopt;
  if (failed >= crashed) {
    return cooling(fmt::format("'{}' failed to load {} times in a row and cools down: {}", spec.name.value(),
                               model.failure->in_a_row, model.failure->cause),
                   failed);
  }
  return cooling(fmt::format("'{}' crashed {} times in a row under requests and cools down: {}", spec.name.value(),
                             model.crashes->in_a_row, model.crashes->cause),
                 crashed);
}

}  // namespace corral::residency
