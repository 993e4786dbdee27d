// Embeddings and reranking: check the inputs, hand them to a pooling worker.
#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/service/inference_engine_impl.h"

namespace corral::engine {
namespace {

// Limit per request, so that others fit beside it.
constexpr std::uint64_t kMaxTokensOfOne = kMaxPooledTokens / 2;

Error too_long(std::string message, const std::string& name, std::uint64_t tokens, std::uint64_t max) {
  Error error(make_error_code(errc::input_too_long), std::move(message), name);
  error.facts = ContextFull{.needed = tokens, .n_past = 0, .n_ctx = max};
  return error;
}

// `name`: name of the inputs in errors.
Result<> check_inputs(const Model& model, std::span<const std::vector<Token>> inputs, const std::string& name) {
  if (inputs.empty()) return fail(errc::invalid_argument, fmt::format("'{}' is empty: give at least one", name), name);
  const std::uint32_t max = std::min(model.facts().n_batch, model.facts().n_ctx);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty())
      return fail(errc::invalid_argument, fmt::format("'{}[{}]' has no tokens: leave it out", name, i), name);
    if (inputs[i].size() > max) {
      return std::unexpected(
          too_long(fmt::format("'{}[{}]' has {} tokens, this model takes at most {} at once: split it", name, i,
                               inputs[i].size(), max),
                   name, inputs[i].size(), max));
    }
    for (const Token token : inputs[i]) {
      if (model.valid(token)) continue;
      return fail(errc::invalid_argument,
                  fmt::format("'{}[{}]' has the token {}, but this model's vocabulary ends at {}", name, i, token,
                              model.facts().n_vocab - 1),
                  name);
    }
  }
  return {};
}

}  // namespace

Result<PooledHandle> InferenceEngine::Impl::pool(PooledState::Job job) {
  if (auto checked = check_inputs(*model, job.inputs, job.scores ? "documents" : "input"); !checked)
    return std::unexpected(checked.error());
  std::uint64_t tokens = 0;
  for (const auto& input : job.inputs) tokens += input.size();
  if (tokens > kMaxTokensOfOne) {
    const std::string name = job.scores ? "documents" : "input";
    return std::unexpected(
        too_long(fmt::format("'{}' has {} tokens in all, at most {} are allowed at once: send several requests", name,
                             tokens, kMaxTokensOfOne),
                 name, tokens, kMaxTokensOfOne));
  }
  if (without_weights) return no_weights();
  // The worker with the fewest tokens.
  const auto tokens_waiting = [](const auto& pooler) { return pooler->in_flight().weight(); };
  PoolingWorker* const pooler = std::ranges::min_element(poolers, {}, tokens_waiting)->get();
  const std::uint32_t max = options.max_under_way();
  PooledState::Place place;
  place.tokens = pooled_tokens->enter(job.client, tokens);
  if (!place.tokens) {
    auto full = token_share_full(pooled_tokens->held(job.client), tokens, pooled_tokens->limit());
    full.retry_after = pooled_tokens->until_free(job.client);
    return std::unexpected(std::move(full));
  }
  place.request = pooled_requests->enter(job.client, 1);
  if (!place.request) {
    auto full = share_full(pooled_requests->held(job.client), {max});
    full.retry_after = pooled_requests->until_free(job.client);
    return std::unexpected(std::move(full));
  }
  auto ticket = pooler->in_flight().enter({.count = max, .weight = kMaxPooledTokens}, tokens);
  if (!ticket && ticket.error() == InFlight::Refusal::closed) return going_away();
  if (!ticket) return std::unexpected(queue_full({max}));
  place.ticket = std::move(*ticket);
  auto state = std::make_shared<PooledState>(std::move(job), std::move(place));
  if (!pooler->box().post(state)) return going_away();
  return PooledHandle(std::move(state));
}

Result<PooledHandle> InferenceEngine::embed(std::vector<std::vector<Token>> inputs, PooledTerms terms) {
  if (facts().kind != ModelKind::embedding) {
    return fail(errc::unsupported, fmt::format("this is a {} model: it makes no embeddings", to_string(facts().kind)));
  }
  return impl_->pool(
      {.inputs = std::move(inputs), .normalize = terms.normalize, .scores = false, .client = std::move(terms.client)});
}

Result<PooledHandle> InferenceEngine::rerank(std::string_view query, std::span<const std::string> documents,
                                             PooledTerms terms) {
  if (facts().kind != ModelKind::reranker) {
    return fail(errc::unsupported, fmt::format("this is a {} model: it can't rerank", to_string(facts().kind)));
  }
  PooledState::Job job{.inputs = {}, .normalize = false, .scores = true, .client = std::move(terms.client)};
  for (const std::string& document : documents) {
    auto tokens = rerank_input(*impl_->model, query, document);
    if (!tokens) return std::unexpected(tokens.error());
    job.inputs.push_back(std::move(*tokens));
  }
  return impl_->pool(std::move(job));
}

}  // namespace corral::engine
