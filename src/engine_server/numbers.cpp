// What the engine counts and holds: stats, metrics, slots.
#include <fmt/format.h>

#include "engine_server/engine_server_impl.h"
#include "json/writer.h"
#include "protocol/metrics_text.h"

namespace corral::engine_server {

using http::Response;

namespace {

constexpr std::string_view kPrefix = "corral_engine_";

std::vector<protocol::MetricLabel> labels_of(const std::string& model, std::size_t worker) {
  return {{"model", model}, {"worker", std::to_string(worker)}};
}

void write_session(json::Writer& out, const engine::SessionView& session) {
  using enum engine::SessionState;
  out.begin_object().field("id", session.id.value()).field("worker", session.worker);
  out.field("state", engine::to_string(session.state));
  out.field("is_processing", session.state == prefill || session.state == decoding);
  out.field("n_ctx", session.n_ctx).field("tokens", session.tokens).field("cached_tokens", session.cached_tokens);
  out.field("generated", session.generated).field("queue_place", session.queue_place);
  out.field("unused_ms", session.unused.count()).end_object();
}

}  // namespace

Response EngineServer::Impl::stats() const {
  const engine::WorkerStats total = service.stats().total();
  std::string text;
  json::Writer out(text);
  out.begin_object();
  for (const auto& field : engine::stat_fields())
    std::visit([&](auto member) { out.field(field.name, total.*member); }, field.member);
  out.end_object();
  return Response::json(200, std::move(text));
}

Response EngineServer::Impl::metrics() const {
  const auto now = service.stats();
  std::string text;
  protocol::MetricsText out(text);
  const auto name_of = [](const char* metric) { return fmt::format("{}{}", kPrefix, metric); };
  const auto each_worker = [&](auto&& value_of) {
    for (std::size_t i = 0; i < now.workers.size(); ++i)
      out.sample(labels_of(options.model_name, i), value_of(now.workers[i]));
  };
  for (const auto& field : engine::stat_fields()) {
    if (field.metric == nullptr) continue;
    const bool counter = field.kind == engine::StatField::Kind::counter;
    out.family(name_of(field.metric), counter ? protocol::MetricType::counter : protocol::MetricType::gauge,
               field.help);
    each_worker([&](const engine::WorkerStats& worker) {
      return std::visit([&](auto member) { return static_cast<double>(worker.*member) * field.scale; }, field.member);
    });
  }
  for (const auto& field : engine::histogram_fields()) {
    out.family(name_of(field.metric), protocol::MetricType::histogram, field.help);
    each_worker([&](const engine::WorkerStats& worker) -> const Histogram& { return worker.*field.member; });
  }
  out.family(name_of("model_bytes"), protocol::MetricType::gauge, "Size of the weights in bytes");
  const protocol::MetricLabel model[] = {{"model", options.model_name}};
  out.sample(model, static_cast<double>(service.facts().model_bytes));
  return Response::text(200, protocol::kMetricsContentType, std::move(text));
}

async::Task<Response> EngineServer::Impl::slots(http::Request) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto signal = std::make_shared<Signal>(executor);
  // The task may be cancelled while a worker is still about to answer.
  const auto views = std::make_shared<std::vector<engine::SessionView>>();
  service.sessions([views, wake = waker_of(signal)](std::vector<engine::SessionView> listed) {
    *views = std::move(listed);
    wake();
  });
  co_await signal->event.wait();
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const auto& session : *views) write_session(out, session);
  out.end_array();
  co_return Response::json(200, std::move(text));
}

}  // namespace corral::engine_server
