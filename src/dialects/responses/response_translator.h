// Converts canonical answers to OpenAI's responses: an object with items, or its events in their documented order, each
// with a sequence number.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dialects/dialect.h"

namespace corral::dialects::responses {

std::unique_ptr<ResponseTranslator> make_response_translator(const Canonical& request);
// The document of a response without output. `error`: its failure; null: none.
std::string response_document(const Canonical& request, std::string_view status, const Error* error = nullptr);

}  // namespace corral::dialects::responses
