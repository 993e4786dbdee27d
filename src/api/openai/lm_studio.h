// Fields for LM Studio's clients under /api/v0: members of an entry of a list of models, and members of a whole answer.
// These clients know only the words "llm", "vlm" and "embeddings" for types, and "loaded", "loading" and "not-loaded"
// for states. Some drop the whole list at any other word. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/model_type.h"
#include "http/handler.h"
#include "json/writer.h"
#include "models/model_info.h"

namespace corral::api::lm_studio {

// Whether the path is one of LM Studio's, so that its answer has their shape.
bool is_path(std::string_view path);

struct Entry {
  bool tools = false;
  std::string_view checkpoint = {}, architecture = {};
  std::string_view status = {};  // "status.value" of the entry
  std::uint64_t context = 0;     // tokens, if it is in memory
};

// Whether LM Studio's clients have a word for this type: they have none for speech and pictures.
bool lists(ModelType type);

// "type": a model without conversations is "embeddings", so that no program offers it for chats.
std::string_view type_word(ModelType type, bool vision);
// "publisher", "arch", "compatibility_type", "state", "loaded_context_length" of a loaded model, and "capabilities", as
// members of the open object.
void write_members(json::Writer& out, const Entry& entry);

// Appends "stats" and "model_info" to a whole answer; other answers stay unchanged.
http::Response with_stats(http::Response answer, const models::ModelInfo& model);

}  // namespace corral::api::lm_studio
