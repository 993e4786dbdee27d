#include "protocol/ask.h"

#include <array>

namespace corral::protocol {
namespace {

constexpr auto kAsks = std::to_array<AskRow>({
    {Ask::chat, "/v1/chat/completions", ModelType::llm},
    {Ask::completion, "/v1/completions", ModelType::llm},
    {Ask::native_completion, "/v1/completion", ModelType::llm},
    {Ask::chat_template, "/v1/apply-template", ModelType::llm},
    {Ask::embedding, "/v1/embeddings", ModelType::embedding},
    {Ask::native_embedding, "/v1/embedding", ModelType::embedding},
    {Ask::rerank, "/v1/rerank", ModelType::reranking},
    {Ask::tokenize, "/v1/tokenize", std::nullopt},
    {Ask::detokenize, "/v1/detokenize", std::nullopt},
    {Ask::transcription, "/v1/audio/transcriptions", ModelType::transcription},
    {Ask::translation, "/v1/audio/translations", ModelType::transcription},
    {Ask::speech, "/v1/audio/speech", ModelType::tts},
    {Ask::image, "/v1/images/generations", ModelType::image},
    {Ask::image_edit, "/v1/images/edits", ModelType::image},
    {Ask::chat_tokens, "/v1/chat/completions/input_tokens", ModelType::llm},
    {Ask::infill, "/v1/infill", ModelType::llm},
    {Ask::image_variation, "/v1/images/variations", ModelType::image},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < kAsks.size(); ++i) {
    if (static_cast<std::size_t>(kAsks[i].ask) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const AskRow> ask_table() { return kAsks; }

const AskRow& row_of(Ask ask) { return kAsks[static_cast<std::size_t>(ask)]; }

}  // namespace corral::protocol
