// What LM Studio's clients look for under /api/v0: members of an entry of a list of models, and what stands beside a
// whole answer. They know the words "llm", "vlm" and "embeddings" for types, and "loaded", "loading" and "not-loaded"
// for states, and nothing else; some drop the whole list for any other. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/model_type.h"
#include "http/handler.h"
#include "json/writer.h"
#include "models/model_info.h"

namespace corral::api::lm_studio {

// Whether a path is one of LM Studio's, so that its answer has their shape.
bool is_path(std::string_view path);

struct Entry {
  bool tools = false;
  std::string_view checkpoint = {}, architecture = {};
  std::string_view status = {};  // "status.value" of the entry
  std::uint64_t context = 0;     // tokens, if it is in memory
};

// Whether its clients have a word for such models at all: they know none for speech and pictures.
bool lists(ModelType type);

// "type": what can't hold a conversation counts as "embeddings", so that no program offers it for one.
std::string_view type_word(ModelType type, bool vision);
// "publisher", "arch", "compatibility_type", "state", "loaded_context_length" of what is loaded, and "capabilities", as
// members of the object that is open.
void write_members(json::Writer& out, const Entry& entry);

// A whole answer with "stats" and "model_info" behind its own members; any other answer as it is.
http::Response with_stats(http::Response answer, const models::ModelInfo& model);

}  // namespace corral::api::lm_studio
