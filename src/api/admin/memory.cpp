// GET memory: what uses the memory of each device, the slots of each type, and which model a further load would evict
// or downsize. It measures the memory, so it is apart from health.
#include <algorithm>
#include <map>

#include "api/admin/routes.h"
#include "api/base/core_routes.h"
#include "json/writer.h"
#include "residency/instance_state.h"

namespace corral::api {
namespace {

using Names = std::map<residency::InstanceId, std::string>;

const char* name_of(device::PoolKind kind) {
  switch (kind) {
    case device::PoolKind::ram:
      return "ram";
    case device::PoolKind::gpu:
      return "gpu";
    case device::PoolKind::shared:
      return "shared";
  }
  return "ram";
}

Names names_of(const router::Report& report) {
  Names names;
  for (const auto& instance : report.instances) names[instance.view.id] = instance.view.spec->name.value();
  for (const auto& share : report.shares) names[share.instance.view.id] = share.of.model;
  if (report.snapshot.loading) names[report.snapshot.loading->id] = report.snapshot.loading->spec->name.value();
  return names;
}

// "next" and "obstacle".
void write_next(json::Writer& out, const residency::NextReclaim& next, const Names& names) {
  const auto name = next.instance ? names.find(*next.instance) : names.end();
  out.key("next");
  if (name == names.end()) {
    out.null();
  } else {
    out.begin_object().field("model_name", name->second).field("action", next.downsize ? "downsize" : "evict");
    out.field("reason", residency::name_of(next.reason)).end_object();
  }
  out.key("obstacle");
  next.obstacle == residency::Obstacle::none ? out.null() : out.value(residency::name_of(next.obstacle));
}

void write_parts(json::Writer& out, const router::MemoryParts& parts) {
  out.field("weights_bytes", parts.weights).field("kv_bytes", parts.kv);
  out.field("compute_bytes", parts.compute).field("process_bytes", parts.process);
  out.field("reclaimable_bytes", parts.reclaimable);
}

void write_users(json::Writer& out, const std::string& pool, const router::MemoryReport& memory, const Names& names) {
  const auto& loading = memory.report.snapshot.loading;
  out.key("models").begin_array();
  for (const auto& user : memory.users) {
    const auto name = names.find(user.instance);
    if (name == names.end()) continue;
    for (const auto& parts : user.parts) {
      if (parts.pool != pool || parts.total() == 0) continue;
      out.begin_object().field("model_name", name->second).field("loading", loading && loading->id == user.instance);
      write_parts(out, parts);
      out.end_object();
    }
  }
  out.end_array();
}

void write_pools(json::Writer& out, const router::MemoryReport& memory, const Names& names) {
  const auto& known = memory.outlook.pools;
  out.key("pools").begin_array();
  for (const auto& [pool, other, free] : memory.pools) {
    out.begin_object().field("id", pool.id).field("name", pool.name).field("kind", name_of(pool.kind));
    out.field("total_bytes", pool.total).field("available_bytes", pool.available);
    out.field("other_bytes", other).field("free_bytes", free);
    write_users(out, pool.id, memory, names);
    const auto its = std::ranges::find(known, residency::PoolId(pool.id), &residency::PoolOutlook::pool);
    write_next(out, its == known.end() ? residency::NextReclaim{} : its->next, names);
    out.end_object();
  }
  out.end_array();
}

async::Task<http::Response> memory(CoreContext& context) {
  const auto memory = co_await context.router.memory();
  const auto names = names_of(memory.report);
  std::string body;
  json::Writer out(body);
  out.begin_object().field("time", epoch_millis(memory.report.time));
  out.field("auto_evict_threshold_pct", memory.threshold);
  write_pools(out, memory, names);
  out.key("slots").begin_array();
  for (const auto& slots : memory.outlook.slots) {
    out.begin_object().field("type", name_of(slots.type)).field("taken", slots.taken).field("limit", slots.limit);
    write_next(out, slots.next, names);
    out.end_object();
  }
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_memory(std::vector<http::Route>& routes, CoreContext& context) {
  add_core(routes, "GET", "memory", [&context](http::Request, http::PathParams) { return memory(context); });
}

}  // namespace corral::api
