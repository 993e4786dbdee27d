#include "backends/engine_leftovers.h"

#include <unistd.h>

namespace corral::backends {

proc::Leftovers engine_leftovers() { return {"/dev/shm/__KMP_REGISTERED_LIB_{pid}_" + std::to_string(::getuid())}; }

}  // namespace corral::backends
