// Inference endpoints: check the body, find the model, hand the request to the forwarder. Nothing here depends on which
// endpoint it is beyond the rows of one table.
#include <algorithm>
#include <optional>

#include "api/loaded_model.h"
#include "api/routes.h"
#include "base/model_type.h"
#include "protocol/fields.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

struct Endpoint {
  std::string_view path;          // under the core prefixes
  std::string_view backend_path;  // at the engine
  const protocol::FieldTable& (*fields)();
  std::optional<ModelType> type;  // of model it needs; none: any
  bool streams = false;           // where the body says so
};

constexpr Endpoint kEndpoints[] = {
    {"chat/completions", "/v1/chat/completions", protocol::chat_fields, ModelType::llm, true},
    {"completions", "/v1/completions", protocol::completion_fields, ModelType::llm, true},
    {"completion", "/v1/completion", protocol::native_fields, ModelType::llm, true},
    {"apply-template", "/v1/apply-template", protocol::chat_fields, ModelType::llm},
    {"embeddings", "/v1/embeddings", protocol::embedding_fields, ModelType::embedding},
    {"embedding", "/v1/embedding", protocol::native_embedding_fields, ModelType::embedding},
    {"rerank", "/v1/rerank", protocol::rerank_fields, ModelType::reranking},
    {"reranking", "/v1/rerank", protocol::rerank_fields, ModelType::reranking},
    {"reranker", "/v1/rerank", protocol::rerank_fields, ModelType::reranking},
    {"tokenize", "/v1/tokenize", protocol::tokenize_fields, std::nullopt},
    {"detokenize", "/v1/detokenize", protocol::detokenize_fields, std::nullopt},
};

// llama-server has these without a prefix. Its "/completions" isn't OpenAI's.
struct RootPath {
  std::string_view path;
  std::string_view endpoint;  // the path of its row
};
constexpr RootPath kRootPaths[] = {
    {"/chat/completions", "chat/completions"},
    {"/completion", "completion"},
    {"/completions", "completion"},
    {"/apply-template", "apply-template"},
    {"/embedding", "embedding"},
    {"/embeddings", "embedding"},
    {"/rerank", "rerank"},
    {"/reranking", "reranking"},
    {"/tokenize", "tokenize"},
    {"/detokenize", "detokenize"},
};

async::Task<http::Response> infer(Context& context, const Endpoint& endpoint, http::Request request) {
  auto body = co_await request.body.read_all(context.max_body_bytes);
  if (!body) co_return protocol::error_response(body.error());
  const auto peeked = protocol::check(*body, endpoint.fields());
  if (!peeked) co_return protocol::error_response(peeked.error());
  auto model = context.models.find_known(peeked->model);
  if (peeked->model.empty()) {
    model = co_await only_loaded_now(context, endpoint.type);
  } else if (!model) {
    model = co_await context.models.find(peeked->model);
  }
  if (!model) co_return protocol::error_response(model.error());
  if (endpoint.type && (*model)->type != *endpoint.type) {
    const models::ModelInfo& info = **model;
    co_return protocol::error_response(
        protocol::wrong_model_type(info.name.value(), info.type, endpoint.path, *endpoint.type));
  }
  const bool streams = peeked->stream && endpoint.streams;
  router::ForwardRequest forward{std::move(*model),
                                 std::string(endpoint.backend_path),
                                 std::move(*body),
                                 streams,
                                 request.id,
                                 peeked->ping_interval,
                                 peeked->context,
                                 std::move(request.caller.key),
                                 std::move(request.peer)};
  co_return co_await context.forwarder.forward(std::move(forward));
}

}  // namespace

void add_inference(std::vector<http::Route>& routes, Context& context) {
  for (const auto& endpoint : kEndpoints) {
    add_core(routes, "POST", endpoint.path, [&context, &endpoint](http::Request request, http::PathParams) {
      return infer(context, endpoint, std::move(request));
    });
  }
  for (const auto& root : kRootPaths) {
    const auto* const row = std::ranges::find(kEndpoints, root.endpoint, &Endpoint::path);
    routes.push_back({"POST", std::string(root.path), [&context, row](http::Request request, http::PathParams) {
                        return infer(context, *row, std::move(request));
                      }});
  }
}

}  // namespace corral::api
