// For children with libraries that print clients' texts: keeps these texts out of their logs.
#pragma once

#include <span>
#include <string_view>

namespace corral::proc {

// From now on, a print through C's `stderr` in one call that begins with one of these texts is cut after it; the rest
// reaches no log. All other output passes at once, as before. Call it once per process, before other threads print; the
// referenced texts must live permanently. Writes to the descriptor itself (sanitizers, signal handlers) pass untouched.
void cut_stderr_behind(std::span<const std::string_view> beginnings);

}  // namespace corral::proc
