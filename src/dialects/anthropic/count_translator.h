// How many tokens a request has, as Anthropic says it.
#pragma once

#include <memory>

#include "dialects/dialect.h"

namespace corral::dialects::anthropic {

std::unique_ptr<ResponseTranslator> tell_count(const Canonical& request);

}  // namespace corral::dialects::anthropic
