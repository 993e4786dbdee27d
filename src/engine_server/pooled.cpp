// embeddings and rerank.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/values/errors.h"
#include "engine_server/engine_server_impl.h"
#include "engine_server/ranking.h"
#include "protocol/errors.h"

namespace corral::engine_server {

using dialects::error_response;
using http::Response;

namespace {

// Waits for the result. Cancelling the task drops the handle, which stops the work.
async::Task<Result<engine::PooledResult>> wait_for(engine::PooledHandle handle) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto signal = std::make_shared<Signal>(executor);
  handle.set_waker(waker_of(signal));
  while (true) {
    if (auto result = handle.try_get()) co_return std::move(*result);
    signal->event.reset();
    co_await signal->event.wait();
  }
}

RequestRecord record_of(const engine::PooledResult& result, MonoClock::duration took) {
  const double ms = std::chrono::duration<double, std::milli>(took).count();
  return {.input_tokens = result.tokens, .first_token_ms = ms, .prompt_ms = ms};
}

constexpr std::int32_t kEuclidean = 2;  // which the engine does

// Divides by the norm of this number; see protocol::EmbeddingRequest::norm.
void normalize(std::vector<float>& values, std::int32_t norm) {
  constexpr double kLargest = 32760;  // fits 16 bits
  double sum = 0;
  for (const float value : values) {
    const double size = std::abs(value);
    sum = norm == 0 ? std::max(sum, size / kLargest) : sum + std::pow(size, norm);
  }
  if (norm > 0) sum = std::pow(sum, 1.0 / norm);
  for (float& value : values) value = sum > 0 ? static_cast<float>(value / sum) : 0;
}

// Numbers of an answer: 4 bytes each, and about 11 more as text.
constexpr std::size_t kMaxValues = 1 << 24;
// Of queries and documents: the query is read again with each document.
constexpr std::size_t kMaxPairBytes = 16 << 20;

// Inputs that are too long for a model have one error code, with numbers, wherever they are detected.
Error with_numbers(Error error) {
  const auto* found = error.fact<engine::ContextFull>();
  if (error.code != engine::errc::input_too_long || found == nullptr) return error;
  return protocol::context_exceeded({.n_prompt_tokens = found->needed, .n_ctx = found->n_ctx}, std::move(error.message),
                                    std::move(error.param));
}

Result<> check_pairs(const protocol::RerankRequest& asked) {
  std::size_t bytes = asked.query.size() * asked.documents.size();
  for (const auto& document : asked.documents) bytes += document.size();
  if (bytes <= kMaxPairBytes) return {};
  return fail(engine::errc::input_too_long,
              fmt::format("'query' and 'documents' have {} bytes, because each document is read with the query, at "
                          "most {} are allowed: send several requests",
                          bytes, kMaxPairBytes),
              "documents");
}

// Of a model that makes no embedding of a whole text.
Result<> check_without_pooling(const protocol::EmbeddingRequest& request, bool native_shape) {
  if (!native_shape) {
    return fail(protocol::errc::unsupported_value,
                "this model makes an embedding of each token (pooling none), but this endpoint returns one of each "
                "text: use /embeddings, or load the model with another pooling",
                "model");
  }
  if (request.dimensions) {
    return fail(protocol::errc::unsupported_value,
                "'dimensions' needs an embedding of the whole text, but this model makes one of each token (pooling "
                "none): leave it out",
                "dimensions");
  }
  return {};
}

struct PreparedEmbedding {
  protocol::EmbeddingRequest request;
  std::vector<std::vector<engine::Token>> inputs;
};

struct BegunReranking {
  protocol::RerankRequest request;
  engine::PooledHandle handle;
};

Result<PreparedEmbedding> prepare_embedding(const PromptTokens& texts, const std::string& text, bool native_shape,
                                            const CancelToken& stop) {
  const auto& service = texts.service();
  auto request =
      native_shape ? protocol::parse_native_embedding_request(text) : protocol::parse_embedding_request(text);
  if (!request) return std::unexpected(std::move(request.error()));
  const auto native = service.facts().n_embd;
  if (request->dimensions.value_or(0) > native) {
    return fail(protocol::errc::unsupported_value,
                fmt::format("'dimensions' is {}, but the embeddings of this model have {}: use that or less",
                            *request->dimensions, native),
                "dimensions");
  }
  const bool pooling = service.facts().pooling != engine::Pooling::none;
  if (auto fine = pooling ? Result<>() : check_without_pooling(*request, native_shape); !fine)
    return std::unexpected(std::move(fine.error()));
  const auto max_vectors = kMaxValues / std::max<std::size_t>(1, native);
  if (request->inputs.size() > max_vectors) {
    return fail(protocol::errc::bad_value,
                fmt::format("'input' has {} texts, at most {} are allowed for this model, whose embeddings have {} "
                            "numbers: send several requests",
                            request->inputs.size(), max_vectors, native),
                "input");
  }
  PreparedEmbedding prepared{std::move(*request), {}};
  std::size_t all_tokens = 0;
  for (const auto& input : prepared.request.inputs) {
    if (stop.wanted()) return stopped();
    const auto max = service.facts().n_batch;
    auto tokens = prepared.request.truncate ? texts.read_cut(input, std::min(max, service.facts().n_ctx), "input", stop)
                                            : texts.read(input, {.max = max}, "input", stop);
    if (!tokens) return std::unexpected(std::move(tokens.error()));
    if (tokens->empty()) {
      return fail(protocol::errc::bad_value,
                  fmt::format("'input[{}]' is empty, there is nothing to embed: omit it", prepared.inputs.size()),
                  "input");
    }
    if (tokens->size() > service.facts().n_batch) {
      auto why =
          fmt::format("'input[{}]' is too large: it has {} tokens, this model takes at most {} at once: split it",
                      prepared.inputs.size(), tokens->size(), service.facts().n_batch);
      return std::unexpected(protocol::context_exceeded(
          {.n_prompt_tokens = tokens->size(), .n_ctx = service.facts().n_batch}, std::move(why), "input"));
    }
    all_tokens += tokens->size();
    prepared.inputs.push_back(std::move(*tokens));
  }
  if (!pooling && all_tokens > max_vectors) {
    return fail(protocol::errc::bad_value,
                fmt::format("'input' has {} tokens, at most {} are allowed for this model, which makes an embedding of "
                            "{} numbers for each: send several requests",
                            all_tokens, max_vectors, native),
                "input");
  }
  return prepared;
}

}  // namespace

async::Task<Response> EngineServer::Impl::embed(http::Request request) {
  return embed_as(std::move(request), EmbeddingShape::openai);
}

async::Task<Response> EngineServer::Impl::embed_native(http::Request request) {
  return embed_as(std::move(request), EmbeddingShape::native);
}

async::Task<Response> EngineServer::Impl::embed_as(http::Request request, EmbeddingShape shape) {
  const bool native = shape == EmbeddingShape::native;
  const auto arrived = timers.now();
  if (auto fits = require(engine::ModelKind::embedding, "embeddings"); !fits) co_return error_response(fits.error());
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);
  auto work = [this, native](const std::string& text, const CancelToken& stop) {
    return prepare_embedding(prompt_tokens, text, native, stop);
  };
  auto prepared = co_await parse(std::move(*body), client, Parsing::by_size, std::move(work));
  if (!prepared) co_return error_response(prepared.error());
  options.prepared(request.id);

  const auto norm = prepared->request.norm;
  const auto dimensions = prepared->request.dimensions.value_or(service.facts().n_embd);
  const bool cut = dimensions < service.facts().n_embd;
  const bool pooling = service.facts().pooling != engine::Pooling::none;
  auto handle =
      service.embed(std::move(prepared->inputs), {.normalize = norm == kEuclidean, .client = std::move(client)});
  if (!handle) co_return error_response(with_numbers(std::move(handle.error())));
  auto result = co_await wait_for(std::move(*handle));
  if (!result) co_return error_response(result.error());
  if (options.request_done) options.request_done(record_of(*result, timers.now() - arrived));
  for (auto& values : result->values) {
    if (cut) values.resize(dimensions);
    if (pooling && norm >= 0 && (cut || norm != kEuclidean)) normalize(values, norm);
  }
  if (native)
    co_return Response::json(200, protocol::native_embeddings(result->values, dimensions, prepared->request.base64));
  co_return Response::json(200, protocol::embeddings(shown_name(prepared->request.model), result->values,
                                                     prepared->request.base64, result->tokens));
}

async::Task<Response> EngineServer::Impl::rerank(http::Request request) {
  const auto arrived = timers.now();
  if (auto fits = require(engine::ModelKind::reranker, "rerank"); !fits) co_return error_response(fits.error());
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);
  auto start = [this, client](protocol::RerankRequest asked, const CancelToken& stop) -> Result<BegunReranking> {
    if (stop.wanted()) return stopped();
    for (const auto& document : asked.documents) {
      if (auto fits = prompt_tokens.check_bytes(asked.query.size() + document.size(), "documents"); !fits)
        return std::unexpected(std::move(fits.error()));
    }
    if (auto fine = check_pairs(asked); !fine) return std::unexpected(std::move(fine.error()));
    auto handle = service.rerank(asked.query, asked.documents, {.client = client});
    if (!handle) return std::unexpected(with_numbers(std::move(handle.error())));
    return BegunReranking{std::move(asked), std::move(*handle)};
  };
  auto begun = co_await make_ready<protocol::RerankRequest>(std::move(*body), std::move(client),
                                                            protocol::parse_rerank_request, std::move(start));
  if (!begun) co_return error_response(begun.error());
  options.prepared(request.id);
  auto* const asked = &begun->request;
  const auto result = co_await wait_for(std::move(begun->handle));
  if (!result) co_return error_response(result.error());
  if (options.request_done) options.request_done(record_of(*result, timers.now() - arrived));

  std::vector<float> scores;
  for (const auto& values : result->values) scores.push_back(values.front());
  const auto ranked = rank(scores, asked->top_n, asked->raw_scores);
  if (!asked->return_documents) asked->documents.clear();
  if (asked->as_list) co_return Response::json(200, protocol::ranked_list(ranked, asked->documents));
  co_return Response::json(200,
                           protocol::reranking(shown_name(asked->model), ranked, asked->documents, result->tokens));
}

}  // namespace corral::engine_server
