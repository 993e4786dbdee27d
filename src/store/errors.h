// Why the store doesn't keep, or find, what it was asked for.
#pragma once

#include "base/error.h"

namespace corral::store {

enum class errc {
  unavailable = 1,  // the file can't be used: somebody else has it, the disk is full or broken; the message says which
  busy,             // more waits to be written than may
  not_found,        // no such thing of this owner, or not any more
  too_long,         // a chain of responses, or a conversation, has more of them than may be read at once
  too_large,        // or more bytes
};

}  // namespace corral::store

CORRAL_DECLARE_ERRC(corral::store);
