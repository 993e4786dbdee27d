// What is asked of a model, in whatever words a client said it, and the paths at which those who answer take it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/model_type.h"

namespace corral::protocol {

enum class Ask : std::uint8_t {
  chat,
  completion,
  native_completion,  // llama-server's own
  chat_template,
  embedding,
  native_embedding,
  rerank,
  tokenize,
  detokenize,
  transcription,
  translation,
  speech,
  image,
  image_edit,
  chat_tokens,  // how many tokens the prompt of a chat has
  infill,       // llama-server's: what stands in a gap
};

struct AskRow {
  Ask ask;
  std::string_view path;          // of an engine, and of everything that is asked like one
  std::optional<ModelType> type;  // of model it needs; none: any
};
// In the order of Ask.
std::span<const AskRow> ask_table();
const AskRow& row_of(Ask ask);

}  // namespace corral::protocol
