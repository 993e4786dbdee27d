// Why the memory of a device can't be read. Internal causes: logged, never returned to a client.
#pragma once

#include "base/error.h"

namespace corral::device {

enum class errc {
  absent = 1,  // no such driver, program or device on this machine: not a fault
  failed,      // the driver returned an error
  malformed,   // invalid output
  hangs,       // no answer within the deadline
};

}  // namespace corral::device

CORRAL_DECLARE_ERRC(corral::device);
