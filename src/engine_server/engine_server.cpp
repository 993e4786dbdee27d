#include "engine_server/engine_server.h"

#include <random>

#include <fmt/format.h>

#include "base/model_type.h"
#include "engine/values/errors.h"
#include "engine_server/engine_server_impl.h"
#include "engine_server/errors.h"
#include "protocol/errors.h"
#include "protocol/fields.h"

namespace corral::engine_server {
namespace {

std::string random_id(std::string_view prefix) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(prefix);
  for (int i = 0; i < 29; ++i) id.push_back(kLetters[random() % kLetters.size()]);
  return id;
}

ModelType type_of(engine::ModelKind kind) {
  switch (kind) {
    case engine::ModelKind::embedding:
      return ModelType::embedding;
    case engine::ModelKind::reranker:
      return ModelType::reranking;
    case engine::ModelKind::generative:
      break;
  }
  return ModelType::llm;
}

// Options that also count each request.
EngineServerOptions counted(EngineServerOptions options, const std::shared_ptr<LlamaNumbers>& numbers) {
  options.request_done = [numbers, report = std::move(options.request_done)](const RequestRecord& record) {
    numbers->add(record);
    if (report) report(record);
  };
  return options;
}

async::Task<http::Response> at_once(http::Response response) { co_return response; }

}  // namespace

EngineServer::Impl::Impl(engine::InferenceEngine& the_service, async::Timers& the_timers, async::ThreadPool& the_pool,
                         EngineServerOptions the_options)
    : service(the_service),
      timers(the_timers),
      options(counted(std::move(the_options), numbers)),
      alive(std::make_shared<char>(), &service),
      started(epoch_millis(the_timers.wall_now()) / 1000),
      chat_template(the_service.facts().kind == engine::ModelKind::generative
                        ? ChatTemplate::load(the_service.model(), true, options.chat_template)
                        : fail(errc::invalid_template, "this model has no chat template")),
      routes(make_routes()),
      shares(options.max_answers),
      media_shares(options.max_media_bytes, engine::ClientQuota::First::enters),
      prompt_tokens(the_service),
      preparation(the_pool, options.preparation) {}

EngineServer::Impl::~Impl() {
  preparation.stop();
  const ExclusiveLock none_running(jobs->running);
  jobs->closed = true;
}

http::RouteTable EngineServer::Impl::make_routes() {
  using http::Request;
  using http::Response;
  using Handle = async::Task<Response> (Impl::*)(Request);
  using Show = Response (Impl::*)() const;
  struct Ask {
    const char* method;
    const char* path;
    Handle handle;
  };
  struct Get {
    const char* path;
    Show show;
  };
  static constexpr Ask kAsks[] = {
      {"POST", "/chat/completions", &Impl::chat},
      {"POST", "/chat/completions/input_tokens", &Impl::chat_tokens},
      {"POST", "/completions", &Impl::complete},
      {"POST", "/completion", &Impl::complete_native},
      {"POST", "/infill", &Impl::infill},
      {"POST", "/embeddings", &Impl::embed},
      {"POST", "/embedding", &Impl::embed_native},
      {"POST", "/rerank", &Impl::rerank},
      {"POST", "/reranking", &Impl::rerank},
      {"POST", "/reranker", &Impl::rerank},
      {"POST", "/tokenize", &Impl::tokenize},
      {"POST", "/detokenize", &Impl::detokenize},
      {"POST", "/apply-template", &Impl::apply_template},
      {"POST", "/lora-adapters", &Impl::set_adapters},
      {"GET", "/slots", &Impl::slots},
  };
  static constexpr Get kGets[] = {{"/health", &Impl::health}, {"/models", &Impl::models},
                                  {"/props", &Impl::props},   {"/lora-adapters", &Impl::adapters},
                                  {"/stats", &Impl::stats},   {"/metrics", &Impl::metrics}};
  std::vector<http::Route> table;
  for (const auto* prefix : {"", "/v1"}) {
    for (const auto& ask : kAsks) {
      auto call = [this, handle = ask.handle](Request request, http::PathParams) {
        return (this->*handle)(std::move(request));
      };
      table.push_back({ask.method, std::string(prefix) + ask.path, std::move(call)});
    }
    for (const auto& get : kGets) {
      auto call = [this, show = get.show](Request, http::PathParams) { return at_once((this->*show)()); };
      table.push_back({"GET", std::string(prefix) + get.path, std::move(call)});
    }
  }
  return {std::move(table),
          [](const Request& request, unsigned status) { return dialects::path_error(request, status); }};
}

Result<engine::ClientQuota::Held> EngineServer::Impl::enter(const std::string& client, std::uint64_t answers) {
  auto held = shares.enter(client, answers);
  if (held) return held;
  Error full(make_error_code(engine::errc::queue_full),
             fmt::format("this client has {} running choices and requests {} more, but other clients wait too (limit "
                         "{} in all): request fewer at a time, or retry",
                         shares.held(client), answers, options.max_answers));
  full.retry_after = shares.until_free(client);
  return std::unexpected(std::move(full));
}

Result<engine::ClientQuota::Held> EngineServer::Impl::enter_media(const std::string& client, std::uint64_t bytes) {
  auto held = media_shares.enter(client, bytes);
  if (held) return held;
  Error full(make_error_code(engine::errc::queue_full),
             fmt::format("the pictures and sounds of this client's requests take {} MiB and this one's {} more (limit "
                         "{} in all), but other clients wait too: send fewer at a time, or retry",
                         media_shares.held(client) >> 20, bytes >> 20, options.max_media_bytes >> 20));
  full.retry_after = media_shares.until_free(client);
  return std::unexpected(std::move(full));
}

Result<> EngineServer::Impl::require(engine::ModelKind kind, std::string_view endpoint) const {
  const auto have = service.facts().kind;
  if (have == kind) return {};
  return std::unexpected(protocol::wrong_model_type(options.model_name, type_of(have), endpoint, type_of(kind)));
}

protocol::AnswerHead EngineServer::Impl::head_of(const std::string& asked_model, std::string_view id_prefix) const {
  return {.id = random_id(id_prefix),
          .model = shown_name(asked_model),
          .created = epoch_millis(timers.wall_now()) / 1000,
          .fingerprint = options.fingerprint};
}

EngineServer::EngineServer(engine::InferenceEngine& service, async::Timers& timers, async::ThreadPool& pool,
                           EngineServerOptions options)
    : impl_(std::make_unique<Impl>(service, timers, pool, std::move(options))) {}
EngineServer::~EngineServer() = default;

async::Task<http::Response> EngineServer::handle(http::Request request) {
  return impl_->routes.handle(std::move(request));
}

}  // namespace corral::engine_server
