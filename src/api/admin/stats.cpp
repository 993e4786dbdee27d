// GET stats/history: statistics of the last hour as columns, and totals since the start. Measures and loads nothing.
#include <algorithm>
#include <cmath>

#include "api/admin/routes.h"
#include "api/admin/stats_recorder.h"
#include "api/base/core_routes.h"
#include "json/writer.h"

namespace corral::api {
namespace {

void write_stats_totals(json::Writer& out, const StatsTotals& totals) {
  out.key("totals").begin_object();
  out.field("requests", totals.requests).field("failed_requests", totals.failed_requests);
  out.field("refused_requests", totals.refused_requests).field("cancelled_requests", totals.cancelled_requests);
  out.field("input_tokens", totals.input_tokens).field("cached_tokens", totals.cached_tokens);
  out.field("output_tokens", totals.output_tokens);
  out.field("loads", totals.loads).field("failed_loads", totals.failed_loads);
  out.field("aborted_loads", totals.aborted_loads).field("evictions", totals.evictions);
  out.field("unloads", totals.unloads).field("crashes", totals.crashes).end_object();
}

// Tokens per second, to the hundredth: more digits would only make the answer longer.
double rate(double tokens, const StatsRow& row) { return std::round(100 * tokens / row.seconds()) / 100; }

template <typename Value>
void write_column(json::Writer& out, const char* name, const StatsHistory& history, const Value& value) {
  out.key(name).begin_array();
  for (const auto& row : history.rows()) out.value(value(row));
  out.end_array();
}

void write_columns(json::Writer& out, const StatsHistory& history) {
  out.key("columns").begin_object();
  write_column(out, "time", history, [](const StatsRow& row) { return epoch_millis(row.time); });
  const auto count = [&](const char* name, auto member) {
    write_column(out, name, history, [member](const StatsRow& row) { return row.*member; });
  };
  count("running_requests", &StatsRow::running_requests);
  count("queued_requests", &StatsRow::queued_requests);
  count("load_queue_models", &StatsRow::load_queue_models);
  count("load_queue_requests", &StatsRow::load_queue_requests);
  write_column(out, "input_tokens_per_second", history,
               [](const StatsRow& row) { return rate(row.input_tokens, row); });
  write_column(out, "output_tokens_per_second", history,
               [](const StatsRow& row) { return rate(row.output_tokens, row); });
  count("requests", &StatsRow::requests);
  count("failed_requests", &StatsRow::failed_requests);
  count("loads", &StatsRow::loads);
  count("failed_loads", &StatsRow::failed_loads);
  count("evictions", &StatsRow::evictions);
  out.end_object();
}

// null in rows without a measurement.
void write_pool_column(json::Writer& out, const char* name, const StatsHistory& history, std::size_t pool,
                       std::uint64_t StatsRow::Pool::* bytes) {
  out.key(name).begin_array();
  for (const auto& row : history.rows()) {
    const auto measured = std::ranges::find(row.pools, pool, &StatsRow::Pool::pool);
    measured == row.pools.end() ? out.null() : out.value((*measured).*bytes);
  }
  out.end_array();
}

async::Task<http::Response> stats_history(AdminContext& context) {
  const auto metrics = co_await context.core.router.metrics();
  const auto history = co_await context.stats->history();
  const auto now = epoch_millis(context.core.timers.wall_now());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("time", now).field("started", now - metrics.uptime.count());
  out.field("uptime_ms", metrics.uptime.count()).field("interval_ms", StatsRecorder::kInterval.count());
  out.field("memory_interval_ms", StatsRecorder::kMemoryInterval.count());
  write_stats_totals(out, totals_of(metrics.models));
  write_columns(out, history);
  out.key("pools").begin_array();
  for (std::size_t i = 0; i < history.pools().size(); ++i) {
    const auto& pool = history.pools()[i];
    out.begin_object().field("id", pool.id).field("name", pool.name).field("total_bytes", pool.total);
    write_pool_column(out, "models_bytes", history, i, &StatsRow::Pool::models);
    write_pool_column(out, "other_bytes", history, i, &StatsRow::Pool::other);
    write_pool_column(out, "free_bytes", history, i, &StatsRow::Pool::free);
    out.end_object();
  }
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_stats_history(std::vector<http::Route>& routes, AdminContext& context) {
  add_core(routes, "GET", "stats/history",
           [&context](http::Request, http::PathParams) { return stats_history(context); });
}

}  // namespace corral::api
