// llama-server's endpoints in addition to OpenAI's, and its paths without a prefix. There, "/completions" isn't
// OpenAI's.
#include <array>

#include "dialects/checked.h"

namespace corral::dialects {
namespace {

using protocol::Ask;

constexpr auto kEndpoints = std::to_array<Endpoint>({
    {"completion", Ask::native_completion, checked<protocol::native_fields>, true},
    {"infill", Ask::infill, checked<protocol::infill_fields>, true},
    {"apply-template", Ask::chat_template, checked<protocol::chat_fields>},
    {"chat/completions/input_tokens", Ask::chat_tokens, checked<protocol::chat_fields>},
    {"embedding", Ask::native_embedding, checked<protocol::native_embedding_fields>},
    {"tokenize", Ask::tokenize, checked<protocol::tokenize_fields>},
    {"detokenize", Ask::detokenize, checked<protocol::detokenize_fields>},

    {"/chat/completions", Ask::chat, checked<protocol::chat_fields>, true},
    {"/chat/completions/input_tokens", Ask::chat_tokens, checked<protocol::chat_fields>},
    {"/completion", Ask::native_completion, checked<protocol::native_fields>, true},
    {"/completions", Ask::native_completion, checked<protocol::native_fields>, true},
    {"/infill", Ask::infill, checked<protocol::infill_fields>, true},
    {"/apply-template", Ask::chat_template, checked<protocol::chat_fields>},
    {"/embedding", Ask::native_embedding, checked<protocol::native_embedding_fields>},
    {"/embeddings", Ask::native_embedding, checked<protocol::native_embedding_fields>},
    {"/rerank", Ask::rerank, checked<protocol::rerank_fields>},
    {"/reranking", Ask::rerank, checked<protocol::rerank_fields>},
    {"/tokenize", Ask::tokenize, checked<protocol::tokenize_fields>},
    {"/detokenize", Ask::detokenize, checked<protocol::detokenize_fields>},
});

}  // namespace

const Dialect& llama_server() {
  static constexpr Dialect dialect{"llama-server", kEndpoints};
  return dialect;
}

std::span<const Dialect* const> all() {
  static const std::array kAll{&openai(), &llama_server(), &responses_dialect(), &anthropic_dialect(),
                               &ollama_dialect()};
  return kAll;
}

}  // namespace corral::dialects
