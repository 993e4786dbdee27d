// OpenAI's endpoints, and those of compatible APIs (rerank of Jina and Cohere).
#include <array>
#include <utility>

#include "dialects/audio/speech.h"
#include "dialects/audio/transcription.h"
#include "dialects/checked.h"
#include "dialects/images/requests.h"

namespace corral::dialects {
namespace {

using protocol::Ask;

// Cohere's scores are between 0 and 1.
Result<Canonical> read_cohere_rerank(std::string body) {
  auto read = checked<protocol::rerank_fields>(std::move(body));
  if (read) read->body.insert(read->body.rfind('}'), R"(,"raw_scores":false)");  // the last of equal members is used
  return read;
}

constexpr auto kEndpoints = std::to_array<Endpoint>({
    {"chat/completions", Ask::chat, checked<protocol::chat_fields>, true},
    {"completions", Ask::completion, checked<protocol::completion_fields>, true},
    {"embeddings", Ask::embedding, checked<protocol::embedding_fields>},
    {"rerank", Ask::rerank, checked<protocol::rerank_fields>},
    {"reranking", Ask::rerank, checked<protocol::rerank_fields>},
    {"reranker", Ask::rerank, checked<protocol::rerank_fields>},
    {"/v2/rerank", Ask::rerank, read_cohere_rerank},
    {.path = "audio/transcriptions",
     .ask = Ask::transcription,
     .read_form = audio::read_transcription,
     .translate_whole = audio::translate_transcript},
    {.path = "audio/translations",
     .ask = Ask::translation,
     .read_form = audio::read_translation,
     .translate_whole = audio::translate_transcript},
    {.path = "audio/speech",
     .ask = Ask::speech,
     .read = audio::read_speech,
     .translate_sound = audio::translate_speech},
    // Their answers may take several calls of the backend: api/images.
    {.path = "images/generations", .ask = Ask::image, .read = images::read_generation},
    {.path = "images/edits", .ask = Ask::image_edit, .read_form = images::read_edit},
    {.path = "images/variations", .ask = Ask::image_variation, .read_form = images::read_variation},
});

}  // namespace

const Dialect& openai() {
  static constexpr Dialect dialect{"openai", kEndpoints};
  return dialect;
}

}  // namespace corral::dialects
