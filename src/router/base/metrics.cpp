#include "router/base/metrics.h"

namespace corral::router {

const char* name_of(LoadOutcome outcome) {
  static constexpr std::array<const char*, kLoadOutcomeCount> kNames{"loaded", "failed", "aborted"};
  return kNames[static_cast<std::size_t>(outcome)];
}

}  // namespace corral::router
