// For children that run libraries which print what clients wrote: keeps that out of their logs.
#pragma once

#include <span>
#include <string_view>

namespace corral::proc {

// From now on, what is printed through C's `stderr` in one call and begins with one of these texts is cut behind it;
// the rest of it reaches no log. Everything else passes at once, as before. Once per process, before other threads
// print; what is referred to must stay for ever. Writes to the descriptor itself (sanitizers, signal handlers) pass
// untouched.
void cut_stderr_behind(std::span<const std::string_view> beginnings);

}  // namespace corral::proc
