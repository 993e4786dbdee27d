// Exceptions of tasks whose end must be handled in any case. Pure functions.
#pragma once

#include <exception>
#include <string>

namespace corral::router {

// True for a cancellation: not a failure, pass it on.
bool is_cancellation(const std::exception_ptr& failure);
// For the log.
std::string words_of(const std::exception_ptr& failure);

}  // namespace corral::router
