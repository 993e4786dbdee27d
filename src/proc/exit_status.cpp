#include "proc/exit_status.h"

#include <cstring>

#include <fmt/core.h>

namespace corral::proc {

std::string ExitStatus::describe() const {
  switch (kind) {
    case Kind::exited:
      return fmt::format("exited with code {}", value);
    case Kind::killed:
      if (const char* name = ::sigabbrev_np(value)) return fmt::format("killed by signal {} (SIG{})", value, name);
      return fmt::format("killed by signal {}", value);
    case Kind::unknown:
      break;
  }
  return "ended with an unknown status";
}

}  // namespace corral::proc
