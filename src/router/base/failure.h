// What a task threw, for tasks whose end somebody waits for whatever happens. Pure functions.
#pragma once

#include <exception>
#include <string>

namespace corral::router {

// It was cancelled: no failure, to be passed on.
bool is_cancellation(const std::exception_ptr& failure);
// For the log.
std::string words_of(const std::exception_ptr& failure);

}  // namespace corral::router
