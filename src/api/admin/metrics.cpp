// GET metrics: counters of the router for each model, the current state, and the metrics of the engines, as Prometheus
// text. Nothing here loads or wakes a model.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

#include "api/admin/children.h"
#include "api/admin/routes.h"
#include "api/base/core_routes.h"
#include "api/supply/download_json.h"
#include "api/supply/supply.h"
#include "protocol/answers/metrics_merge.h"
#include "protocol/answers/metrics_text.h"
#include "residency/instance_state.h"

namespace corral::api {
namespace {

using protocol::MetricLabel;
using protocol::MetricsText;
using protocol::MetricType;
using router::ModelMetrics;

// An engine that doesn't answer in this time is left out: collectors wait for at most ten seconds.
constexpr Millis kPatience{1'000};

// Counters of each model.
struct CountedFamily {
  const char* name;
  MetricType type;
  const char* help;
  void (*write)(MetricsText& out, const std::string& model, const ModelMetrics& counted);
};

template <auto kMember>
void write_number(MetricsText& out, const std::string& model, const ModelMetrics& counted) {
  const MetricLabel labels[] = {{"model", model}};
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(counted.*kMember)>, Histogram>) {
    out.sample(labels, counted.*kMember);
  } else {
    out.sample(labels, static_cast<double>(counted.*kMember));
  }
}

// One sample for each value of an enumeration.
template <auto kMember, typename Enum>
void write_each(MetricsText& out, const std::string& model, const ModelMetrics& counted) {
  const auto& counts = counted.*kMember;
  constexpr const char* kLabel = std::is_same_v<Enum, residency::StopReason> ? "reason" : "outcome";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    // Most reasons never occur, so zeros are left out; outcomes are few and always listed.
    if (std::is_same_v<Enum, residency::StopReason> && counts[i] == 0) continue;
    const MetricLabel labels[] = {{"model", model}, {kLabel, name_of(static_cast<Enum>(i))}};
    out.sample(labels, static_cast<double>(counts[i]));
  }
}

constexpr CountedFamily kCounted[] = {
    {"corral_requests_total", MetricType::counter, "Inference requests, by result",
     write_each<&ModelMetrics::requests, router::Outcome>},
    {"corral_input_tokens_total", MetricType::counter, "Tokens of prompts and inputs, including cached ones",
     write_number<&ModelMetrics::input_tokens>},
    {"corral_cached_tokens_total", MetricType::counter, "Prompt tokens that were cached",
     write_number<&ModelMetrics::cached_tokens>},
    {"corral_output_tokens_total", MetricType::counter, "Generated tokens", write_number<&ModelMetrics::output_tokens>},
    {"corral_time_to_first_token_seconds", MetricType::histogram,
     "Time from the arrival of a request at its model to the first token",
     write_number<&ModelMetrics::first_token_seconds>},
    {"corral_tokens_per_second", MetricType::histogram, "Generation rate of a request",
     write_number<&ModelMetrics::tokens_per_second>},
    {"corral_queue_wait_seconds", MetricType::histogram, "Time from the arrival of a request until its model is ready",
     write_number<&ModelMetrics::queue_seconds>},
    {"corral_load_duration_seconds", MetricType::histogram, "Duration of successful loads",
     write_number<&ModelMetrics::load_seconds>},
    {"corral_loads_total", MetricType::counter, "Loads, by result",
     write_each<&ModelMetrics::loads, router::LoadOutcome>},
    {"corral_evictions_total", MetricType::counter, "Evicted and unloaded models, by reason",
     write_each<&ModelMetrics::stops, residency::StopReason>},
    {"corral_crashes_total", MetricType::counter, "Processes that ended unexpectedly",
     write_number<&ModelMetrics::crashes>},
    {"corral_requests_kept_off_total", MetricType::counter,
     "Requests rejected by the quarantine, because they ended processes before",
     write_number<&ModelMetrics::quarantined>},
};

// Metrics of each model in memory.
struct ServerFamily {
  const char* name;
  const char* help;
  double (*value)(const router::InstanceReport& instance);
};
constexpr ServerFamily kServers[] = {
    {"corral_model_pinned", "1: never evicted automatically",
     [](const router::InstanceReport& instance) { return instance.view.pinned ? 1.0 : 0.0; }},
    {"corral_model_memory_bytes", "Resident memory of the process",
     [](const router::InstanceReport& instance) { return static_cast<double>(instance.facts.memory_bytes); }},
    {"corral_model_context_tokens", "Context of one request",
     [](const router::InstanceReport& instance) { return static_cast<double>(instance.facts.context_window); }},
    {"corral_model_active_requests", "Running requests",
     [](const router::InstanceReport& instance) { return static_cast<double>(instance.view.leases); }},
    {"corral_model_last_use_timestamp_seconds", "Time of the start or end of its last request",
     [](const router::InstanceReport& instance) {
       return static_cast<double>(epoch_millis(instance.view.last_use)) / 1000;
     }},
};

// Metrics of each model type.
struct TypeFamily {
  const char* name;
  const char* help;
  double (*value)(const residency::Snapshot& snapshot, ModelType type);
};
constexpr TypeFamily kTypes[] = {
    {"corral_loaded_models", "Models in memory, including those that load or unload",
     [](const residency::Snapshot& snapshot, ModelType type) {
       return static_cast<double>(snapshot.taken[index_of(type)]);
     }},
    {"corral_max_loaded_models", "Slots",
     [](const residency::Snapshot& snapshot, ModelType type) {
       const auto slots = snapshot.limits[type];
       return slots == residency::kUnlimited ? std::numeric_limits<double>::infinity() : slots;
     }},
    {"corral_pinned_models", "Pinned models in memory",
     [](const residency::Snapshot& snapshot, ModelType type) {
       return static_cast<double>(snapshot.pinned[index_of(type)]);
     }},
};

void write_gauge(MetricsText& out, const char* name, const char* help, double value) {
  out.family(name, MetricType::gauge, help);
  out.sample({}, value);
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  return static_cast<double>(std::distance(begin(descriptors), end(descriptors)));
}

void write_process(MetricsText& out, const AdminContext& context, Millis uptime) {
  out.family("corral_info", MetricType::gauge, "1, with the version of the program");
  const MetricLabel version[] = {{"version", context.core.about.version}};
  out.sample(version, 1);
  const double seconds = std::chrono::duration<double>(uptime).count();
  const double now = static_cast<double>(epoch_millis(context.core.timers.wall_now())) / 1000;
  write_gauge(out, "process_start_time_seconds", "When the router started", now - seconds);
  write_gauge(out, "corral_uptime_seconds", "Time since the router started", seconds);
  write_gauge(out, "process_resident_memory_bytes", "Resident memory of the router", resident_bytes());
  write_gauge(out, "process_open_fds", "File descriptors of the router", open_descriptors());
}

void write_house(MetricsText& out, AdminContext& context, const router::Report& report) {
  const auto& snapshot = report.snapshot;
  for (const auto& family : kTypes) {
    out.family(family.name, MetricType::gauge, family.help);
    for (const auto type : kModelTypes) {
      const MetricLabel labels[] = {{"type", std::string(name_of(type))}};
      out.sample(labels, family.value(snapshot, type));
    }
  }
  std::size_t waiters = 0;
  for (const auto& queued : snapshot.queue) waiters += queued.waiters;
  write_gauge(out, "corral_load_queue_length", "Models in the load queue", static_cast<double>(snapshot.queue.size()));
  write_gauge(out, "corral_load_queue_waiters", "Requests that wait for these models", static_cast<double>(waiters));
  std::array<double, 2> requests{};
  for (const auto& request : context.core.forwarder.requests().list())
    if (request.kind == router::RequestKind::inference) requests[request.running ? 1 : 0] += 1;
  out.family("corral_requests", MetricType::gauge, "Running inference requests");
  for (const std::size_t running : {0, 1}) {
    const MetricLabel labels[] = {{"status", running == 1 ? "running" : "queued"}};
    out.sample(labels, requests[running]);
  }
  out.family("corral_load_progress", MetricType::gauge, "Progress of the current load, 0 to 1");
  if (snapshot.loading) {
    const MetricLabel labels[] = {{"model", snapshot.loading->spec->name.value()}};
    out.sample(labels, report.load_progress.value_or(0));
  }
}

void write_servers(MetricsText& out, const router::Report& report) {
  out.family("corral_model_status", MetricType::gauge, "1, with the state of each model in memory");
  for (const auto& instance : report.instances) {
    const auto& spec = *instance.view.spec;
    const MetricLabel labels[] = {{"model", spec.name.value()},
                                  {"type", std::string(name_of(spec.type))},
                                  {"device", name_of(instance.device)},
                                  {"recipe", spec.recipe},
                                  {"status", residency::name_of(instance.view.state)}};
    out.sample(labels, 1);
  }
  for (const auto& family : kServers) {
    out.family(family.name, MetricType::gauge, family.help);
    for (const auto& instance : report.instances) {
      const MetricLabel labels[] = {{"model", instance.view.spec->name.value()}};
      out.sample(labels, family.value(instance));
    }
  }
}

// Metrics of the store.
struct StoreFamily {
  const char* name;
  MetricType type;
  const char* help;
  std::uint64_t store::StoreCounts::* count;
};
constexpr StoreFamily kStore[] = {
    {"corral_store_kept_bytes", MetricType::gauge, "Size of stored responses and conversations",
     &store::StoreCounts::kept_bytes},
    {"corral_store_waiting", MetricType::gauge, "Pending reads and writes of the file", &store::StoreCounts::waiting},
    {"corral_store_waiting_bytes", MetricType::gauge, "Size of texts to be written",
     &store::StoreCounts::waiting_bytes},
    {"corral_store_lost_activity_total", MetricType::counter, "Dropped records of requests and captures",
     &store::StoreCounts::lost_activity},
    {"corral_store_failures_total", MetricType::counter, "Size of the file", &store::StoreCounts::failures},
};

void write_downloads(MetricsText& out, const downloads::DownloadManager& download_manager,
                     const std::vector<downloads::DownloadRow>& rows) {
  using downloads::DownloadState;
  out.family("corral_downloads", MetricType::gauge, "Downloads in the list, by status");
  for (const auto state : {DownloadState::queued, DownloadState::running, DownloadState::paused, DownloadState::done,
                           DownloadState::failed, DownloadState::cancelled}) {
    const MetricLabel labels[] = {{"status", std::string(download_status(state))}};
    out.sample(labels, static_cast<double>(std::ranges::count(
                           rows, state, [](const downloads::DownloadRow& row) { return row.view.state; })));
  }
  out.family("corral_download_bytes_total", MetricType::counter, "Downloaded bytes of models");
  out.sample({}, static_cast<double>(download_manager.bytes_fetched()));
}

void write_store(MetricsText& out, const store::StoreCounts& counts) {
  for (const auto& family : kStore) {
    out.family(family.name, family.type, family.help);
    out.sample({}, static_cast<double>(counts.*family.count));
  }
}

// Metrics of each other node.
struct NodeFamily {
  const char* name;
  MetricType type;
  const char* help;
  double (*value)(const fleet::NodeView& node);
};
constexpr NodeFamily kNodes[] = {
    {"corral_mesh_node_routable", MetricType::gauge, "1: requests can be sent to the node",
     [](const fleet::NodeView& node) { return mesh::is_routable(node.reach) ? 1.0 : 0.0; }},
    {"corral_mesh_link_up", MetricType::gauge, "1: the link to the node is up",
     [](const fleet::NodeView& node) { return node.reach == mesh::Reach::linked ? 1.0 : 0.0; }},
    {"corral_mesh_link_round_trip_seconds", MetricType::gauge, "Round trip of the last heartbeat",
     [](const fleet::NodeView& node) {
       return static_cast<double>(node.round_trip.value_or(Millis(0)).count()) / 1000;
     }},
    {"corral_mesh_bytes_received_total", MetricType::counter, "Bytes of requests and files, from the node",
     [](const fleet::NodeView& node) { return static_cast<double>(node.bytes_in); }},
    {"corral_mesh_bytes_sent_total", MetricType::counter, "Bytes of requests and files, to the node",
     [](const fleet::NodeView& node) { return static_cast<double>(node.bytes_out); }},
    {"corral_mesh_requests_served", MetricType::gauge, "Running requests of the node at this node",
     [](const fleet::NodeView& node) { return static_cast<double>(node.held); }},
};

// Metrics of each model that this node hosts over several nodes.
struct GroupFamily {
  const char* name;
  const char* help;
  double (*value)(const fleet::GroupView& group);
};
constexpr GroupFamily kGroups[] = {
    {"corral_mesh_group_ready", "1: the model is split over several nodes, and this node is the host",
     [](const fleet::GroupView& group) { return group.status == "ready" ? 1.0 : 0.0; }},
    {"corral_mesh_group_nodes", "Nodes that hold the split model",
     [](const fleet::GroupView& group) { return static_cast<double>(group.parts.size()); }},
    {"corral_mesh_group_predicted_tokens_per_second", "Latency of one request",
     [](const fleet::GroupView& group) { return group.tokens_per_second; }},
};

void write_groups(MetricsText& out, const fleet::MeshView& view) {
  if (!view.groups.empty()) {
    for (const auto& family : kGroups) {
      out.family(family.name, MetricType::gauge, family.help);
      for (const auto& group : view.groups) {
        const MetricLabel labels[] = {{"model", group.model}};
        out.sample(labels, family.value(group));
      }
    }
    out.family("corral_mesh_group_share_bytes", MetricType::gauge, "Memory that a node gives for the model");
    for (const auto& group : view.groups) {
      for (const auto& part : group.parts) {
        const MetricLabel labels[] = {{"model", group.model}, {"node", mesh::short_text(part.node)}};
        out.sample(labels, static_cast<double>(part.bytes));
      }
    }
  }
  write_gauge(out, "corral_mesh_share_bytes", "Memory of this node for layers of another node's model",
              view.share ? static_cast<double>(view.share->bytes) : 0);
}

void write_mesh(MetricsText& out, const fleet::MeshView& view) {
  if (view.phase == fleet::MeshPhase::none) return;
  write_gauge(out, "corral_mesh_members", "Nodes of the mesh, including this one",
              static_cast<double>(view.nodes.size()));
  out.family("corral_mesh_copies", MetricType::gauge,
             "Copies of models to this node, by state, including some finished ones");
  for (const auto state :
       {fleet::CopyState::waiting, fleet::CopyState::copying, fleet::CopyState::done, fleet::CopyState::failed}) {
    const MetricLabel labels[] = {{"state", std::string(fleet::name_of(state))}};
    out.sample(labels, static_cast<double>(std::ranges::count(view.copies, state, &fleet::CopyView::state)));
  }
  for (const auto& family : kNodes) {
    out.family(family.name, family.type, family.help);
    for (const auto& node : view.nodes) {
      if (node.reach == mesh::Reach::own) continue;
      const MetricLabel labels[] = {{"node", mesh::short_text(node.id)}, {"name", node.name}};
      out.sample(labels, family.value(node));
    }
  }
  write_groups(out, view);
}

void write_engines(MetricsText& out, std::string& text, const std::vector<ChildAnswer>& answers) {
  out.family("corral_engine_up", MetricType::gauge, "1: the engine of this model responded in time");
  protocol::MetricsMerge merge;
  for (const auto& answer : answers) {
    const MetricLabel label{"model", answer.model.value()};
    out.sample({&label, 1}, answer.text ? 1 : 0);
    if (answer.text) merge.add(*answer.text, label);
  }
  merge.append_to(text);
}

// If the server has one model, metrics with llama-server's names have no label of the model, as in llama-server.
void unlabel(std::string& text, std::size_t from) {
  constexpr std::string_view kTheirs = "\nllamacpp:";
  for (auto line = text.find(kTheirs, from); line != std::string::npos; line = text.find(kTheirs, line + 1)) {
    const auto end = text.find('\n', line + 1);
    const auto begin = text.find('{', line), close = text.rfind("} ", end);
    if (begin < close && close < end) text.erase(begin, close + 1 - begin);
  }
}

async::Task<http::Response> metrics(AdminContext& context) {
  const auto answers = co_await ask_children(context.core, "/metrics", kPatience);
  const auto report = co_await context.core.router.metrics();
  std::string text;
  MetricsText out(text);
  write_process(out, context, report.uptime);
  write_house(out, context, report.report);
  write_servers(out, report.report);
  for (const auto& family : kCounted) {
    out.family(family.name, family.type, family.help);
    for (const auto& [model, counted] : report.models) family.write(out, model.value(), counted);
  }
  if (context.supply.supply != nullptr) {
    const auto rows = co_await context.supply.supply->download_manager.list();
    write_downloads(out, context.supply.supply->download_manager, rows);
  }
  if (context.core.store != nullptr) write_store(out, context.core.store->counts());
  if (context.core.node != nullptr) write_mesh(out, *context.core.node->view());
  const auto engines = text.size();
  write_engines(out, text, answers);
  if (context.core.one_model) unlabel(text, engines);
  auto response = http::Response::text(200, protocol::kMetricsContentType, std::move(text));
  const auto started = epoch_millis(context.core.timers.wall_now()) - report.uptime.count();
  response.head.headers.add("Process-Start-Time-Unix", std::to_string(started / 1000));
  co_return response;
}

}  // namespace

void add_metrics(std::vector<http::Route>& routes, AdminContext& context) {
  const http::RouteHandler on_metrics = [&context](http::Request, http::PathParams) { return metrics(context); };
  add_core(routes, "GET", "metrics", on_metrics);
  routes.push_back({"GET", "/metrics", on_metrics});
}

}  // namespace corral::api
