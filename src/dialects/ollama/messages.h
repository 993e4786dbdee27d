// Messages as Ollama has them, as canonical ones: arguments of calls become texts, calls get the ids that they have
// none of there, pictures become parts. Pure; safe on every thread.
#pragma once

#include <string_view>

#include "dialects/dialect.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects::ollama {

// Each of `messages` as an element of the array that is open. Returns what the last one has of an answer that is to be
// gone on with.
Begun write_messages(json::Writer& out, json::View messages);
// "content" of the object that is open: a text, or with pictures (in base64) a list of parts.
void write_content(json::Writer& out, std::string_view text, json::View images);

}  // namespace corral::dialects::ollama
