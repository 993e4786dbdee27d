// The line of system prompts that is meant for Anthropic's billing. It changes with every request, so with it no prompt
// prefix would ever be in a cache. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace corral::dialects::anthropic {

bool has_billing_line(std::string_view text);
// The other lines, unchanged.
std::string without_billing_lines(std::string_view text);

}  // namespace corral::dialects::anthropic
