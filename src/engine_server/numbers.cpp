// Endpoints stats, metrics and slots.
#include <span>

#include <fmt/format.h>

#include "engine_server/engine_server_impl.h"
#include "json/writer.h"
#include "protocol/answers/metrics_text.h"

namespace corral::engine_server {

using http::Response;

namespace {

constexpr std::string_view kPrefix = "corral_engine_";

std::vector<protocol::MetricLabel> labels_of(const std::string& model, std::size_t worker) {
  return {{"model", model}, {"worker", std::to_string(worker)}};
}

template <typename Counts>
void write_fields(json::Writer& out, std::span<const engine::StatField<Counts>> fields, const Counts& counts) {
  for (const auto& field : fields)
    std::visit([&](auto member) { out.field(field.name, counts.*member); }, field.member);
}

// The head of a metric in one of the engine's tables; false if it has none.
template <typename Counts>
bool begin_family(protocol::MetricsText& out, const engine::StatField<Counts>& field) {
  if (field.metric == nullptr) return false;
  const bool counter = field.kind == engine::StatKind::counter;
  out.family(fmt::format("{}{}", kPrefix, field.metric),
             counter ? protocol::MetricType::counter : protocol::MetricType::gauge, field.help);
  return true;
}

template <typename Counts>
double value_of(const engine::StatField<Counts>& field, const Counts& counts) {
  return std::visit([&](auto member) { return static_cast<double>(counts.*member) * field.scale; }, field.member);
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
  const auto now = service.stats();
  std::string text;
  json::Writer out(text);
  out.begin_object();
  write_fields(out, engine::stat_fields(), now.total());
  if (now.parked) write_fields(out, engine::parked_fields(), *now.parked);
  if (now.media) write_fields(out, engine::media_fields(), *now.media);
  out.end_object();
  return Response::json(200, std::move(text));
}

Response EngineServer::Impl::metrics() const {
  const auto now = service.stats();
  std::string text;
  protocol::MetricsText out(text);
  const auto name_of = [](const char* metric) { return fmt::format("{}{}", kPrefix, metric); };
  const auto each_worker = [&](auto&& field_value) {
    for (std::size_t i = 0; i < now.workers.size(); ++i)
      out.sample(labels_of(options.model_name, i), field_value(now.workers[i]));
  };
  for (const auto& field : engine::stat_fields()) {
    if (begin_family(out, field))
      each_worker([&](const engine::WorkerStats& worker) { return value_of(field, worker); });
  }
  for (const auto& field : engine::histogram_fields()) {
    out.family(name_of(field.metric), protocol::MetricType::histogram, field.help);
    each_worker([&](const engine::WorkerStats& worker) -> const Histogram& { return worker.*field.member; });
  }
  const protocol::MetricLabel model[] = {{"model", options.model_name}};
  const auto of_the_model = [&](const auto& fields, const auto& counts) {
    for (const auto& field : fields) {
      if (begin_family(out, field)) out.sample(model, value_of(field, counts));
    }
  };
  if (now.parked) of_the_model(engine::parked_fields(), *now.parked);
  if (now.media) of_the_model(engine::media_fields(), *now.media);
  out.family(name_of("model_bytes"), protocol::MetricType::gauge, "Size of the weights in bytes");
  out.sample(model, static_cast<double>(service.facts().model_bytes));
  numbers->write(out, options.model_name, now.total());
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
