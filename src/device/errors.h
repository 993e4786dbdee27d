// Why the memory of a device can't be told. Inner causes: they are logged, never answered to a client.
#pragma once

#include "base/error.h"

namespace corral::device {

enum class errc {
  absent = 1,  // no such driver, program or device on this machine: nothing is wrong
  failed,      // the driver said no
  malformed,   // an answer that can't be understood
  hangs,       // no answer within the deadline
};

}  // namespace corral::device

CORRAL_DECLARE_ERRC(corral::device);
