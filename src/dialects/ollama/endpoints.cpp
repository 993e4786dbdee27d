// Ollama's endpoints for inference. Its lists of models are in api/ollama.
#include <array>

#include "dialects/ollama/answers.h"
#include "dialects/ollama/requests.h"

namespace corral::dialects {
namespace {

using protocol::Ask;

constexpr auto kEndpoints = std::to_array<Endpoint>({
    {"/api/chat", Ask::chat, ollama::read_chat, true, ollama::tell_chat},
    {"/api/generate", Ask::chat, ollama::read_generate, true, ollama::tell_generate},
    {"/api/embed", Ask::embedding, ollama::read_embed, false, ollama::tell_embed},
    {"/api/embeddings", Ask::embedding, ollama::read_old_embedding, false, ollama::tell_old_embedding},
});

}  // namespace

const Dialect& ollama_dialect() {
  static constexpr Dialect dialect{"ollama", kEndpoints};
  return dialect;
}

}  // namespace corral::dialects
