// What may stand in bodies of Ollama's API, as far as they are read here: types of values, and how many there may be.
// What a value may be is checked of the canonical request that comes of it (canonical.h), so that each rule stands
// once.
//
// Fields that aren't here are ignored, as there. Immutable; safe on every thread.
#pragma once

#include <limits>

#include "protocol/fields.h"

namespace corral::dialects::ollama {

const protocol::FieldTable& chat_fields();           // POST /api/chat
const protocol::FieldTable& generate_fields();       // POST /api/generate
const protocol::FieldTable& embed_fields();          // POST /api/embed
const protocol::FieldTable& old_embedding_fields();  // POST /api/embeddings

// The members of "options" that mean something here, and the canonical fields that they are.
struct OptionRow {
  std::string_view name, canonical;
  bool whole = false;  // an integer; clients write 8192.0, too
  // Ollama has no bounds: what is beyond these becomes the nearest of them.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};
std::span<const OptionRow> option_rows();

}  // namespace corral::dialects::ollama
