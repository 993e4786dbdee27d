// Bodies of Ollama's API as canonical requests. Pure; safe on every thread. Errors: those of protocol::check(), which
// name the field as the client knows it.
#pragma once

#include <string>

#include "dialects/dialect.h"

namespace corral::dialects::ollama {

Result<Canonical> read_chat(std::string body);  // POST /api/chat
// `facts` is a std::string then: the conversation up to the prompt, as for write_context(); none: it isn't to be told.
Result<Canonical> read_generate(std::string body);       // POST /api/generate
Result<Canonical> read_embed(std::string body);          // POST /api/embed
Result<Canonical> read_old_embedding(std::string body);  // POST /api/embeddings

}  // namespace corral::dialects::ollama
