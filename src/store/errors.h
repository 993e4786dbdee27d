// Errors of the store.
#pragma once

#include "base/error.h"

namespace corral::store {

enum class errc {
  unavailable = 1,  // the file is unusable: locked by another process, disk full, or damaged; the message has the cause
  busy,             // the queue is full
  not_found,        // unknown for this owner, or expired
  too_long,         // a chain of responses, or a conversation, exceeds the limit of rows
  too_large,        // or of bytes
};

}  // namespace corral::store

CORRAL_DECLARE_ERRC(corral::store);
