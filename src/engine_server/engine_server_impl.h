// Shared by the handlers of EngineServer. Internal to engine_server/.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "engine_server/engine_server.h"
#include "http/route_table.h"
#include "protocol/http_error.h"

namespace corral::engine_server {

struct EngineServer::Impl {
  Impl(engine::InferenceEngine& the_service, async::Timers& the_timers, async::ThreadPool& the_pool,
       EngineServerOptions the_options);

  engine::InferenceEngine& service;
  async::Timers& timers;
  async::ThreadPool& pool;
  const EngineServerOptions options;
  const std::int64_t started;  // seconds since 1970
  // Why there is no template is told to those who ask for a chat.
  Result<std::unique_ptr<ChatTemplate>> chat_template;
  http::RouteTable routes;

  // generate.cpp
  async::Task<http::Response> chat(http::Request request);
  async::Task<http::Response> complete(http::Request request);
  // pooled.cpp
  async::Task<http::Response> embed(http::Request request);
  async::Task<http::Response> rerank(http::Request request);
  // text.cpp
  async::Task<http::Response> tokenize(http::Request request);
  async::Task<http::Response> detokenize(http::Request request);
  http::Response health() const;
  http::Response models() const;
  http::Response props() const;
  // numbers.cpp
  async::Task<http::Response> slots(http::Request request);
  http::Response stats() const;
  http::Response metrics() const;

  http::RouteTable make_routes();
  Result<> require(engine::ModelKind kind, std::string_view endpoint) const;
  protocol::AnswerHead head_of(const std::string& asked_model, std::string_view id_prefix) const;
  const std::string& shown_name(const std::string& asked) const { return asked.empty() ? options.model_name : asked; }

  // Runs `work(body)` here or, for a big body, on the pool. `work` must be callable on any thread.
  template <typename Work, typename R = std::invoke_result_t<Work, const std::string&>>
  async::Task<R> parse(std::string body, bool heavy, Work work) {
    if (!heavy && body.size() <= options.offload_bytes) co_return work(body);
    auto job = [body = std::move(body), work = std::move(work)] { return work(body); };
    co_return co_await pool.run(std::move(job));
  }
};

}  // namespace corral::engine_server
