// Canonical answers as OpenAI's responses: an object with items, or its events in their documented order, each with a
// sequence number.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dialects/dialect.h"

namespace corral::dialects::responses {

std::unique_ptr<ResponseTranslator> tell_response(const Canonical& request);
// An answer of which nothing has been told yet. `error`: why nothing will be; null: nothing went wrong.
std::string response_document(const Canonical& request, std::string_view status, const Error* error = nullptr);

}  // namespace corral::dialects::responses
