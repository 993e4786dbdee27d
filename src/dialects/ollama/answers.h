// Converts canonical answers to Ollama's form: lines of JSON in a stream, else one object. For one thread.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "dialects/dialect.h"

namespace corral::dialects::ollama {

std::unique_ptr<ResponseTranslator> make_chat_translator(const Canonical& request);
std::unique_ptr<ResponseTranslator> make_generate_translator(const Canonical& request);
std::unique_ptr<ResponseTranslator> make_embed_translator(const Canonical& request);
std::unique_ptr<ResponseTranslator> make_old_embedding_translator(const Canonical& request);

// "2026-11-23T15:04:05.123Z"
std::string time_text(WallTime time);

}  // namespace corral::dialects::ollama
