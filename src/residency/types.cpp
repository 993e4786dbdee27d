#include "residency/types.h"

#include <array>

namespace corral::residency {
namespace {

constexpr std::array kReasons{"none",   "room", "npu",    "memory", "evict_all", "limit",     "idle",     "pressure",
                              "reload", "lend", "recall", "yield",  "unload",    "cancelled", "deadline", "shutdown"};
static_assert(kReasons.size() == kStopReasonCount);

struct FaultRow {
  const char* name;
  bool retry;
};
constexpr std::array kFaults{
    FaultRow{"file_not_found", false}, FaultRow{"invalid", false}, FaultRow{"never_fits", false},
    FaultRow{"out_of_memory", true},   FaultRow{"crashed", true},  FaultRow{"deadline", true},
    FaultRow{"other", true},
};
static_assert(kFaults.size() == static_cast<std::size_t>(LoadFault::other) + 1);

}  // namespace

const char* name_of(StopReason reason) { return kReasons[static_cast<std::size_t>(reason)]; }
const char* name_of(LoadFault fault) { return kFaults[static_cast<std::size_t>(fault)].name; }
bool worth_a_retry(LoadFault fault) { return kFaults[static_cast<std::size_t>(fault)].retry; }

}  // namespace corral::residency
