// What all lives that once broke a rule must do now.
#pragma once

#include <gtest/gtest.h>

#include "simulation/residency/world.h"

namespace corral::residency::simulation {

inline void expect_peace(const std::vector<Op>& scenario) {
  const Outcome outcome = live(scenario, true);
  EXPECT_FALSE(outcome.violation) << outcome.violation->rule << ": " << outcome.violation->detail;
}

}  // namespace corral::residency::simulation
