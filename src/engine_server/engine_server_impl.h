// Shared by the handlers of EngineServer. Internal to engine_server/.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/mutex.h"
#include "dialects/error_filter.h"
#include "engine/threads/client_quota.h"
#include "engine_server/engine_server.h"
#include "engine_server/generation.h"
#include "engine_server/llama_numbers.h"
#include "engine_server/preparation/preparation.h"
#include "engine_server/preparation/prompt_tokens.h"
#include "http/route_table.h"
#include "protocol/client_tag.h"

namespace corral::engine_server {

struct EngineServer::Impl {
  Impl(engine::InferenceEngine& the_service, async::Timers& the_timers, async::ThreadPool& the_pool,
       EngineServerOptions the_options);
  ~Impl();

  engine::InferenceEngine& service;
  async::Timers& timers;
  // Running answers may outlive the server.
  const std::shared_ptr<LlamaNumbers> numbers = std::make_shared<LlamaNumbers>();
  const EngineServerOptions options;
  // Owns nothing: weak pointers to it show whether the server still exists.
  const std::shared_ptr<engine::InferenceEngine> alive;
  // Jobs on the pool use the server: each holds `running`, and does nothing once `closed`.
  struct Jobs {
    SharedMutex running;
    bool closed GUARDED_BY(running) = false;
  };
  const std::shared_ptr<Jobs> jobs = std::make_shared<Jobs>();
  const std::int64_t started;  // seconds since 1970
  // The template, or the error that chat requests return.
  Result<std::unique_ptr<ChatTemplate>> chat_template;
  http::RouteTable routes;

  // generate.cpp
  async::Task<http::Response> chat(http::Request request);
  async::Task<http::Response> complete(http::Request request);
  async::Task<http::Response> complete_native(http::Request request);
  async::Task<http::Response> infill(http::Request request);
  enum class CompletionShape { openai, native, infill };
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
  async::Task<http::Response> chat_tokens(http::Request request);
  http::Response health() const;
  http::Response models() const;
  http::Response props() const;
  // adapters.cpp
  http::Response adapters() const;
  async::Task<http::Response> set_adapters(http::Request request);
  // numbers.cpp
  async::Task<http::Response> slots(http::Request request);
  http::Response stats() const;
  http::Response metrics() const;

  http::RouteTable make_routes();
  Result<> require(engine::ModelKind kind, std::string_view endpoint) const;
  protocol::AnswerHead head_of(const std::string& asked_model, std::string_view id_prefix) const;
  const std::string& shown_name(const std::string& asked) const { return asked.empty() ? options.model_name : asked; }

  // The client of the request (protocol/client_tag.h).
  static std::string client_of(const http::Request& request) {
    return std::string(request.head.headers.get(protocol::kClientTag));
  }
  static bool in_background(const http::Request& request) {
    return request.head.headers.get(protocol::kPriority) == protocol::kBackground;
  }
  // Whether a small body's work may run on the connection's loop.
  enum class Parsing { by_size, heavy };
  // Runs `work(body, stop)` on the pool, or here if the body is small. `work` must be callable on any thread.
  template <typename Work, typename R = std::invoke_result_t<Work&, const std::string&, const CancelToken&>>
  async::Task<R> parse(std::string body, std::string client, Parsing parsing, Work work) {
    if (parsing == Parsing::by_size && body.size() <= options.offload_bytes) co_return work(body, CancelToken());
    Preparation::Cause cause{std::move(client), body.size()};
    const auto lane = lane_of(cause.bytes);
    auto job = [running = jobs, body = std::move(body), work = std::move(work)](const CancelToken& stop) mutable -> R {
      const SharedLock lock(running->running);
      if (running->closed) return fail(engine::errc::worker_shutdown, "the engine is shutting down");
      return work(body, stop);
    };
    co_return co_await preparation.run(lane, std::move(cause), std::move(job));
  }
  Lane lane_of(std::uint64_t bytes) const { return bytes > options.heavy_bytes ? Lane::heavy : Lane::quick; }

  // Parses a body and starts its request. A small body whose request takes long moves to the heavy lane.
  template <typename Request, typename Read, typename Start,
            typename R = std::invoke_result_t<Start&, Request, const CancelToken&>>
  async::Task<R> make_ready(std::string body, std::string client, Read read, Start start) {
    using Either = std::variant<Request, typename R::value_type>;
    Preparation::Cause cause{client, body.size()};
    const bool quick = lane_of(cause.bytes) == Lane::quick;
    auto both = [read, start, quick](const std::string& text, const CancelToken& stop) mutable -> Result<Either> {
      auto request = read(text);
      if (!request) return std::unexpected(std::move(request.error()));
      if (quick && takes_long(*request)) return Either(std::move(*request));
      auto made = start(std::move(*request), stop);
      if (!made) return std::unexpected(std::move(made.error()));
      return Either(std::move(*made));
    };
    auto either = co_await parse(std::move(body), std::move(client), Parsing::heavy, std::move(both));
    if (!either) co_return std::unexpected(std::move(either.error()));
    if (auto* made = std::get_if<typename R::value_type>(&*either)) co_return std::move(*made);
    auto job = [running = jobs, start = std::move(start),
                request = std::get<Request>(std::move(*either))](const CancelToken& stop) mutable -> R {
      const SharedLock lock(running->running);
      if (running->closed) return fail(engine::errc::worker_shutdown, "the engine is shutting down");
      return start(std::move(request), stop);
    };
    co_return co_await preparation.run(Lane::heavy, std::move(cause), std::move(job));
  }

  // Reserves the answers of a request, or returns queue_full.
  Result<engine::ClientQuota::Held> enter(const std::string& client, std::uint64_t answers);
  // The same for the memory of the pictures and sounds in a prompt.
  Result<engine::ClientQuota::Held> enter_media(const std::string& client, std::uint64_t bytes);

  engine::ClientQuota shares;
  engine::ClientQuota media_shares;
  PromptTokens prompt_tokens;
  Preparation preparation;  // ends before what its jobs use
};

}  // namespace corral::engine_server
