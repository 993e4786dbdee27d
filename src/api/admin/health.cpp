// Models in memory: health, live, stats.
#include "api/admin/health.h"

#include "api/access/access_filter.h"
#include "api/access/rights.h"
#include "api/admin/mesh_json.h"
#include "api/admin/routes.h"
#include "api/base/core_routes.h"
#include "backends/engine_protocol.h"
#include "json/writer.h"
#include "models/errors.h"
#include "models/text.h"
#include "residency/instance_state.h"

namespace corral::api {
namespace {

const char* health_of(const router::InstanceReport& instance) {
  if (instance.facts.pid <= 0) return "dead";
  if (!residency::is_resident(instance.view.state)) return "stopping";
  return instance.view.leases > 0 ? "busy" : "ready";
}

void write_time_after(json::Writer& out, const char* name, WallTime time, const std::optional<Millis>& in) {
  out.key(name);
  in ? out.value(epoch_millis(time + *in)) : out.null();
}

void write_server(json::Writer& out, const router::InstanceReport& instance, WallTime now) {
  const auto& view = instance.view;
  out.begin_object();
  out.field("model_name", view.spec->name.value()).field("checkpoint", instance.model->checkpoint);
  out.field("type", name_of(view.spec->type))
      .field("device", name_of(instance.device))
      .field("recipe", view.spec->recipe);
  config::write_members(out.key("recipe_options").begin_object(), instance.options, config::Members::all);
  out.end_object();
  out.field("status", residency::name_of(view.state)).field("loaded", residency::is_resident(view.state));
  out.field("is_busy", view.leases > 0)
      .field("is_streaming", instance.streaming)
      .field("active_requests", view.leases)
      .field("pinned", view.pinned);
  out.field("lent", view.lent).field("peer_requests", view.peer_leases);
  out.field("last_use", epoch_millis(view.last_use)).field("load_duration_ms", view.load_duration.count());
  write_idle_outlook(out, view.idle_next, now);
  out.field("eviction_score", view.score);
  out.field("backend_url", instance.facts.backend_url).field("backend_alive", instance.facts.pid > 0);
  out.field("backend_health", health_of(instance));
  out.field("pid", instance.facts.pid).field("memory_bytes", instance.facts.memory_bytes);
  if (instance.view.leaving != residency::StopReason::none)
    out.field("leaving", residency::name_of(instance.view.leaving));
  if (instance.facts.predicted) backends::write(out.key("memory"), *instance.facts.predicted);
  out.field("max_context_window", instance.facts.context_window);
  out.field("max_context_length", instance.model->traits.context_length);
  out.key("launch_command").begin_array();
  for (const auto& word : instance.facts.launch_command) out.value(word);
  out.end_array().end_object();
}

// Of the instances that count as loaded, or of those that are stopping and still occupy memory.
void write_servers(json::Writer& out, const char* name, const router::Report& report, bool resident) {
  out.key(name).begin_array();
  for (const auto& instance : report.instances) {
    if (residency::is_resident(instance.view.state) == resident) write_server(out, instance, report.time);
  }
  out.end_array();
}

// Shares of other nodes' models. Clients can't use them, so they have their own list.
void write_shares(json::Writer& out, const router::Report& report) {
  out.key("shares").begin_array();
  for (const auto& [instance, of] : report.shares) {
    std::uint64_t bytes = 0;
    for (const auto& use : instance.view.spec->memory) bytes += use.total;
    out.begin_object().field("model", of.model).field("host", of.host);
    out.field("status", residency::name_of(instance.view.state)).field("device", name_of(instance.device));
    if (instance.view.leaving != residency::StopReason::none)
      out.field("leaving", residency::name_of(instance.view.leaving));
    out.field("booked_bytes", bytes).field("pid", instance.facts.pid).end_object();
  }
  out.end_array();
}

void write_loading(json::Writer& out, const router::Report& report) {
  out.key("loading");
  if (!report.snapshot.loading) {
    out.null();
    return;
  }
  const auto& loading = *report.snapshot.loading;
  out.begin_object().field("model", loading.spec->name.value()).field("type", name_of(loading.spec->type));
  out.field("progress", report.load_progress.value_or(0)).field("since", epoch_millis(report.time - loading.since));
  out.field("since_ms", loading.since.count()).field("waiters", loading.waiters).field("attempt", loading.attempt);
  out.field("lent", loading.lent).field("aborting", loading.aborting).end_object();
}

// Models that failed to load, or crash under requests, with the reason.
void write_failures(json::Writer& out, const residency::Snapshot& snapshot) {
  out.key("failures").begin_array();
  for (const auto& failure : snapshot.failures) {
    out.begin_object().field("model", failure.model.value()).field("under_requests", failure.under_requests);
    out.field("in_a_row", failure.in_a_row).field("retry_in_ms", failure.cooling.count());
    out.field("cause", failure.cause).end_object();
  }
  out.end_array();
}

// Models that other nodes of the mesh have loaded here.
void write_lent(json::Writer& out, const residency::Snapshot& snapshot) {
  std::size_t models = 0;
  for (const auto count : snapshot.lent) models += count;
  out.key("lent").begin_object().field("models", models).field("share", snapshot.lend_share);
  out.key("memory").begin_object();
  for (const auto& use : snapshot.lent_memory) out.field(use.pool.value(), use.total);
  out.end_object().end_object();
}

}  // namespace

void write_idle_outlook(json::Writer& out, const residency::IdleOutlook& outlook, WallTime now) {
  out.field("stays", residency::name_of(outlook.stay));
  write_time_after(out, "downsize_at", now, outlook.downsize_in);
  write_time_after(out, "evict_at", now, outlook.evict_in);
}

void write_limits(json::Writer& out, const residency::Limits& limits) {
  out.key("max_models").begin_object();
  for (const auto type : kModelTypes) out.field(name_of(type), limits[type]);
  out.end_object();
}

void write_queue(json::Writer& out, const std::vector<residency::QueuedView>& queue) {
  out.key("load_queue").begin_array();
  for (const auto& queued : queue) {
    out.begin_object().field("model", queued.model.value()).field("type", name_of(queued.type));
    out.field("position", queued.position);
    out.field("waiting_ms", queued.waiting.count()).field("waiters", queued.waiters);
    out.field("checking", queued.checking).key("waiting_for").begin_array();
    for (const auto& model : queued.waiting_for) out.value(model.value());
    out.end_array().end_object();
  }
  out.end_array();
}

void write_residency(json::Writer& out, const router::Report& report) {
  const auto& snapshot = report.snapshot;
  const router::InstanceReport* recent = nullptr;
  for (const auto& instance : report.instances) {
    if (snapshot.most_recent == instance.view.spec->name) recent = &instance;
  }
  out.key("model_loaded");
  recent ? out.value(recent->view.spec->name.value()) : out.null();
  out.key("checkpoint_loaded");
  recent ? out.value(recent->model->checkpoint) : out.null();
  write_servers(out, "all_models_loaded", report, true);
  write_servers(out, "stopping", report, false);
  write_limits(out, snapshot.limits);
  out.key("pinned_models").begin_object();
  for (const auto type : kModelTypes) out.field(name_of(type), snapshot.pinned[index_of(type)]);
  out.end_object();
  write_lent(out, snapshot);
  write_shares(out, report);
  write_loading(out, report);
  write_queue(out, snapshot.queue);
  write_failures(out, snapshot);
}

namespace {

// Only if this node is in a mesh.
void write_mesh_of(json::Writer& out, const fleet::MeshView& view) {
  if (view.phase == fleet::MeshPhase::none) return;
  out.key("mesh").begin_object().field("status", fleet::name_of(view.phase));
  write_nodes_briefly(out, view);
  out.end_object();
}

// Files and folders that give no model, and why. Those that can't be read are first.
void write_model_problems(json::Writer& out, const models::Catalog& catalog) {
  constexpr std::size_t kMaxShown = 20;
  out.field("models_known", catalog.models().size()).field("model_problem_count", catalog.problems().size());
  out.key("model_problems").begin_array();
  std::size_t shown = 0;
  for (const bool unreadable : {true, false}) {
    for (const auto& problem : catalog.problems()) {
      const auto& code = problem.cause.code;
      const bool is_unreadable = code == models::errc::unreadable || code == models::errc::file_not_found;
      if (is_unreadable != unreadable || ++shown > kMaxShown) continue;
      out.begin_object()
          .field("path", models::printable_path(problem.path))
          .field("message", problem.cause.message)
          .end_object();
    }
  }
  out.end_array();
}

async::Task<http::Response> health(AdminContext& context) {
  const auto report = co_await context.core.router.report();
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "ok").field("version", context.core.about.version);
  write_residency(out, report);
  const auto problem = context.core.settings ? context.core.settings->problem() : std::string();
  if (context.core.node != nullptr) write_mesh_of(out, *context.core.node->view());
  if (context.files.watch != nullptr) write_changed_files(out, context.files.watch->changes());
  out.key("configuration_problem");
  problem.empty() ? out.null() : out.value(problem);
  out.key("backend_problems").begin_array();
  if (context.backend_problems)
    for (const auto& text : context.backend_problems()) out.value(text);
  out.end_array();
  write_model_problems(out, *context.files.models.last());
  out.end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> still_loading() {
  co_return http::Response::json(503, R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})");
}

// The answer for every caller, also without a key.
async::Task<http::Response> live() { co_return http::Response::json(200, R"({"status":"ok"})"); }

async::Task<http::Response> refused(http::Request request) { co_return refuse_caller(request); }

async::Task<http::Response> stats(AdminContext& context) {
  const auto totals = co_await context.core.router.totals();
  const auto last = totals.last.value_or(backends::RequestStats{});
  std::string body;
  json::Writer out(body);
  out.begin_object();
  out.field("input_tokens", last.input_tokens - last.cached_tokens).field("output_tokens", last.output_tokens);
  out.field("time_to_first_token", last.time_to_first_token).field("tokens_per_second", last.tokens_per_second);
  out.field("prompt_tokens", last.input_tokens).field("cache_tokens", last.cached_tokens);
  out.key("model_name");
  totals.last ? out.value(totals.last_model.value()) : out.null();
  out.field("request_count_total", totals.requests)
      .field("input_tokens_total", totals.input_tokens - totals.cached_tokens);
  out.field("output_tokens_total", totals.output_tokens).field("prompt_tokens_total", totals.input_tokens);
  out.field("cache_tokens_total", totals.cached_tokens).end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_health(std::vector<http::Route>& routes, AdminContext& context) {
  // Probes of containers and load balancers have no key. A wrong key is an error here as everywhere.
  const auto has_wrong_key = [](const http::Request& request) {
    return request.caller.rights == 0 && !sent_key(request.head.headers).empty();
  };
  const http::RouteHandler on_health = [&context, has_wrong_key](http::Request request, http::PathParams) {
    if (has_wrong_key(request)) return refused(std::move(request));
    return request.caller.rights != 0 ? health(context) : live();
  };
  // In llama-server's form, for clients that wait until the server has its model.
  const http::RouteHandler on_root = [&context, has_wrong_key, on_health](http::Request request,
                                                                          http::PathParams params) {
    const bool loading = context.inference.given_is_loading.load() && !has_wrong_key(request);
    return loading ? still_loading() : on_health(std::move(request), std::move(params));
  };
  const http::RouteHandler on_live = [](http::Request, http::PathParams) { return live(); };
  add_core(routes, "GET", "health", on_health);
  add_core(routes, "GET", "live", on_live);
  add_core(routes, "GET", "stats", [&context](http::Request, http::PathParams) { return stats(context); });
  routes.push_back({"GET", "/health", on_root});
  routes.push_back({"GET", "/live", on_live});
}

}  // namespace corral::api
