// Shared by the handlers of EngineServer. Internal to engine_server/.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "engine_server/engine_server.h"
#include "http/route_table.h"
#include "protocol/http_error.h"

namespace corral::engine_server {

struct EngineServer::Impl {
  Impl(engine::InferenceEngine& the_service, async::Timers& the_timers, async::ThreadPool& the_pool,
       EngineServerOptions the_options);
  ~Impl();

  engine::InferenceEngine& service;
  async::Timers& timers;
  async::ThreadPool& pool;
  const EngineServerOptions options;
  // Owns nothing: weak pointers to it know whether the server is still there.
  const std::shared_ptr<engine::InferenceEngine> alive;
  // Jobs on the pool use the server: each holds `running`, and does nothing once `closed`.
  struct Jobs {
    std::shared_mutex running;
    bool closed = false;
  };
  const std::shared_ptr<Jobs> jobs = std::make_shared<Jobs>();
  const std::int64_t started;  // seconds since 1970
  // Why there is no template is told to those who ask for a chat.
  Result<std::unique_ptr<ChatTemplate>> chat_template;
  http::RouteTable routes;

  // generate.cpp
  async::Task<http::Response> chat(http::Request request);
  async::Task<http::Response> complete(http::Request request);
  async::Task<http::Response> complete_native(http::Request request);
  enum class CompletionShape { openai, native };
  async::Task<http::Response> complete_as(http::Request request, CompletionShape shape);
  // pooled.cpp
  async::Task<http::Response> embed(http::Request request);
  async::Task<http::Response> embed_native(http::Request request);
  enum class EmbeddingShape { openai, native };
  async::Task<http::Response> embed_as(http::Request request, EmbeddingShape shape);
  async::Task<http::Response> rerank(http::Request request);
  // text.cpp
  async::Task<http::Response> tokenize(http::Request request);
  async::Task<http::Response> detokenize(http::Request request);
  async::Task<http::Response> apply_template(http::Request request);
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

  // Whether a small body's work may run on the connection's loop.
  enum class Parsing { by_size, heavy };
  // Runs `work(body)` on the pool, or here if the body is small. `work` must be callable on any thread.
  template <typename Work, typename R = std::invoke_result_t<Work, const std::string&>>
  async::Task<R> parse(std::string body, Parsing parsing, Work work) {
    if (parsing == Parsing::by_size && body.size() <= options.offload_bytes) co_return work(body);
    auto job = [running = jobs, body = std::move(body), work = std::move(work)]() -> R {
      const std::shared_lock lock(running->running);
      if (running->closed) return fail(engine::errc::worker_shutdown, "the engine is going away");
      return work(body);
    };
    co_return co_await pool.run(std::move(job));
  }
};

}  // namespace corral::engine_server
