// A model that repeatedly fails to load cools down, so that its retries don't evict other models again and again. A
// model that repeatedly crashes under requests cools down too, so that it isn't reloaded each time. Pure functions.
#pragma once

#include <optional>

#include "residency/settings.h"
#include "residency/state.h"

namespace corral::residency {

// Records one more failed load (both attempts together are one). Only for faults that evict other models.
void note_failure(std::optional<Failure>& failure, const Settings& settings, const ModelSpec& spec, std::string cause,
                  MonoTime now);

// Records one more crash of a loaded instance under requests.
void note_crash(std::optional<Failure>& crashes, const Settings& settings, const ModelSpec& spec, std::string cause,
                MonoTime now);

// Remaining cooldown; 0: it may be tried. Other options or files than those that failed may be tried at once.
Millis cooling_left(const std::optional<Failure>& failure, const ModelSpec& spec, MonoTime now);

// The error for a request for this model; empty: it may be tried. An explicit load is always allowed.
std::optional<Error> cooling_down(const Model& model, const ModelSpec& spec, MonoTime now);

}  // namespace corral::residency
