// Fields in bodies of Ollama's API: types of values, and counts. The canonical request has the checks of values
// (canonical.h), so that each rule exists once.
//
// Unknown fields are ignored, as in Ollama. Immutable; safe on every thread.
#pragma once

#include <limits>

#include "protocol/fields.h"

namespace corral::dialects::ollama {

const protocol::FieldTable& chat_fields();           // POST /api/chat
const protocol::FieldTable& generate_fields();       // POST /api/generate
const protocol::FieldTable& embed_fields();          // POST /api/embed
const protocol::FieldTable& old_embedding_fields();  // POST /api/embeddings

// The supported members of "options", and their canonical fields.
struct OptionRow {
  std::string_view name, canonical;
  bool whole = false;  // an integer; clients write 8192.0, too
  // Ollama has no bounds: a value beyond these becomes the nearest bound.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};
std::span<const OptionRow> option_rows();
// Checks types of the members of "options"; `parameters` of POST /api/create has the same.
Result<> check_options(json::View options, const protocol::Path& path);

}  // namespace corral::dialects::ollama
