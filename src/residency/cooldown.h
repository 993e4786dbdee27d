// After repeated failure a model cools down, so that a broken one can't empty the house over and over; and one that
// ends under requests again and again is left alone, so that it isn't loaded over and over for them. Pure functions.
#pragma once

#include <optional>

#include "residency/settings.h"
#include "residency/state.h"

namespace corral::residency {

// Notes one more failed load (both attempts together are one). Only faults that drove others out count.
void note_failure(std::optional<Failure>& failure, const Settings& settings, std::uint64_t options, std::string cause,
                  MonoTime now);

// Notes one more end of a loaded server that worked on requests.
void note_crash(std::optional<Failure>& crashes, const Settings& settings, std::uint64_t options, std::string cause,
                MonoTime now);

// How long a load with these options has to wait still; 0: not at all. Other options than those that failed may be
// tried at once.
Millis cooling_left(const std::optional<Failure>& failure, std::uint64_t options, MonoTime now);

// What a load of this model hears now; nothing: it may be tried.
std::optional<Error> cooling_down(const Model& model, const ModelSpec& spec, MonoTime now);

}  // namespace corral::residency
