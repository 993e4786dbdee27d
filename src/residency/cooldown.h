// After repeated failure a model cools down, so that a broken one can't empty the house over and over; and one that
// ends under requests again and again is left alone, so that it isn't loaded over and over for them. Pure functions.
#pragma once

#include <optional>

#include "residency/settings.h"
#include "residency/state.h"

namespace corral::residency {

// Notes one more failed load (both attempts together are one). Only faults that drove others out count.
void note_failure(std::optional<Failure>& failure, const Settings& settings, const ModelSpec& spec, std::string cause,
                  MonoTime now);

// Notes one more end of a loaded instance that worked on requests.
void note_crash(std::optional<Failure>& crashes, const Settings& settings, const ModelSpec& spec, std::string cause,
                MonoTime now);

// How long such a load has to wait still; 0: not at all. Other options or files than those that failed may be tried at
// once.
Millis cooling_left(const std::optional<Failure>& failure, const ModelSpec& spec, MonoTime now);

// What a request for this model hears now; nothing: it may be tried. An explicit load always may.
std::optional<Error> cooling_down(const Model& model, const ModelSpec& spec, MonoTime now);

}  // namespace corral::residency
