// The number of tokens of a request, in Anthropic's form.
#pragma once

#include <memory>

#include "dialects/dialect.h"

namespace corral::dialects::anthropic {

std::unique_ptr<ResponseTranslator> make_count_translator(const Canonical& request);

}  // namespace corral::dialects::anthropic
