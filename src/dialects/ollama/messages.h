// Converts Ollama's messages to canonical ones: arguments of calls become texts, calls get ids, pictures become parts.
// Pure; safe on every thread.
#pragma once

#include <string_view>

#include "dialects/dialect.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects::ollama {

// Writes each of `messages` as an element of the open array. Returns the beginning of the answer to continue, from the
// last message.
Begun write_messages(json::Writer& out, json::View messages);
// Writes "content" of the open object: a text, or with pictures (in base64) a list of parts.
void write_content(json::Writer& out, std::string_view text, json::View images);

}  // namespace corral::dialects::ollama
