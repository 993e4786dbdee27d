// Converts bodies of Ollama's API to canonical requests. Pure; safe on every thread. Errors: those of
// protocol::check(), with the client's names of fields.
#pragma once

#include <string>

#include "dialects/dialect.h"

namespace corral::dialects::ollama {

Result<Canonical> read_chat(std::string body);  // POST /api/chat
// `facts` is a std::string then: the conversation up to the prompt, as for write_context(); null: no context in the
// answer.
Result<Canonical> read_generate(std::string body);       // POST /api/generate
Result<Canonical> read_embed(std::string body);          // POST /api/embed
Result<Canonical> read_old_embedding(std::string body);  // POST /api/embeddings

}  // namespace corral::dialects::ollama
