// The operations of models, independent of dialects, and the paths at which upstreams take them.
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
  chat_tokens,  // number of tokens of a chat's prompt
  infill,       // llama-server's: fills a gap
  image_variation,
};

struct AskRow {
  Ask ask;
  std::string_view path;          // of an engine, and of every upstream with the same API
  std::optional<ModelType> type;  // required type of model; nothing: any
};
// In the order of Ask.
std::span<const AskRow> ask_table();
const AskRow& row_of(Ask ask);

}  // namespace corral::protocol
