// Ollama's endpoints for inference. Its lists of models are in api/ollama.
#include <array>

#include "dialects/ollama/answers.h"
#include "dialects/ollama/requests.h"

namespace corral::dialects {
namespace {

using protocol::Ask;

constexpr auto kEndpoints = std::to_array<Endpoint>({
    {"/api/chat", Ask::chat, ollama::read_chat, true, ollama::make_chat_translator},
    {"/api/generate", Ask::chat, ollama::read_generate, true, ollama::make_generate_translator},
    {"/api/embed", Ask::embedding, ollama::read_embed, false, ollama::make_embed_translator},
    {"/api/embeddings", Ask::embedding, ollama::read_old_embedding, false, ollama::make_old_embedding_translator},
});

}  // namespace

const Dialect& ollama_dialect() {
  static constexpr Dialect dialect{"ollama", kEndpoints};
  return dialect;
}

}  // namespace corral::dialects
