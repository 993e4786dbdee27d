#include "api/admin/allotment_json.h"

#include <algorithm>
#include <optional>

#include "fleet/allotment/allot_split.h"
#include "fleet/groups/group_view.h"

namespace corral::api {
namespace {

using mesh::ContentKey;

std::string model_name(const fleet::MeshView& view, const ContentKey& content) {
  for (const auto& model : view.catalog->models())
    if (model.content == content) return model.name;
  return mesh::hash8(content);
}

void write_node(json::Writer& out, const fleet::MeshView& view, const mesh::NodeId& id) {
  out.field("node", view.name_of(id)).field("id", mesh::to_text(id));
}

void write_assignment(json::Writer& out, const fleet::MeshView& view, const mesh::Assignment& line) {
  out.begin_object();
  write_node(out, view, line.node);
  constexpr std::string_view kFetches[] = {"none", "copy", "download"};
  out.field("model", model_name(view, line.model)).field("part", mesh::name_of(line.part));
  out.field("fetch", kFetches[static_cast<std::size_t>(line.fetch)]).key("priority");
  line.priority ? out.value(mesh::name_of(*line.priority)) : out.null();
  out.field("waits", line.waits).field("why", line.why).end_object();
}

void write_unload(json::Writer& out, const fleet::MeshView& view, const mesh::Unload& line) {
  out.begin_object();
  write_node(out, view, line.node);
  out.field("model", model_name(view, line.model)).field("cause", mesh::name_of(line.cause)).key("for");
  line.for_model ? out.value(model_name(view, *line.for_model)) : out.null();
  out.field("why", line.why).end_object();
}

void write_split(json::Writer& out, const fleet::MeshView& view, const mesh::SplitPlan& plan) {
  out.field("host", view.name_of(plan.host)).field("host_id", mesh::to_text(plan.host)).key("shares").begin_array();
  for (const auto& share : plan.shares) {
    out.begin_object();
    write_node(out, view, share.node);
    out.field("layers", share.layers).field("weights_bytes", share.weights).field("cache_bytes", share.cache);
    out.field("compute_bytes", share.compute).field("memory_bytes", share.total()).end_object();
  }
  out.end_array().field("tokens_per_second", plan.tokens_per_second()).field("wait_ms", plan.wait_ms);
  out.field("load_seconds", plan.load_s).key("context");
  plan.context > 0 ? out.value(plan.context) : out.null();
}

// Context of the model at that node now, in tokens; 0: none or unknown.
std::uint64_t context_at(const mesh::MeshModel& model, const mesh::NodeId& node) {
  const auto copy = std::ranges::find_if(model.copies, [&](const auto& one) { return one.node->id == node; });
  return copy != model.copies.end() && copy->serving != nullptr ? copy->serving->context : 0;
}

void write_unserved(json::Writer& out, const fleet::MeshView& view, const mesh::Unserved& unserved) {
  out.begin_object().field("model", model_name(view, unserved.model)).field("lack", mesh::name_of(unserved.reason));
  out.field("need_bytes", unserved.need).field("have_bytes", unserved.have).field("why", unserved.why).end_object();
}

// All lines, or the lines about one model.
void write_lines(json::Writer& out, const fleet::MeshView& view, const std::optional<ContentKey>& only) {
  static const mesh::Allocation kNone;
  const auto& lines = view.allotment && view.catalog ? view.allotment->allocation : kNone;
  const auto about = [&](const auto& line) { return !only || line.model == *only; };
  const auto list = [&](std::string_view name, const auto& all, auto write) {
    out.key(name).begin_array();
    for (const auto& line : all)
      if (about(line)) write(out, view, line);
    out.end_array();
  };
  list("assignments", lines.assignments, write_assignment);
  list("unloads", lines.unloads, write_unload);
  list("splits", lines.splits, [](json::Writer& to, const fleet::MeshView& with, const mesh::SplitDecision& split) {
    to.begin_object().field("model", model_name(with, split.model)).field("waits", split.waits);
    write_split(to, with, split.plan);
    to.end_object();
  });
  list("unserved", lines.unserved, write_unserved);
  list("unsplit", lines.unsplit, write_unserved);
}

// `context`: tokens, once it serves.
void write_group(json::Writer& out, const fleet::MeshView& view, const mesh::NodeId& host,
                 const mesh::GroupReport& group, std::uint64_t context) {
  out.begin_object().field("host", view.name_of(host)).field("host_id", mesh::to_text(host));
  out.field("stage", mesh::name_of(group.stage));
  out.field("running", group.running).field("by_hand", group.by_hand).key("shares").begin_array();
  for (const auto& share : group.shares) {
    out.begin_object();
    write_node(out, view, share.node);
    out.field("layers", share.layers).field("memory_bytes", share.bytes).end_object();
  }
  out.end_array().field("tokens_per_second", group.tokens_per_second).field("idle_ms", group.idle_ms).key("context");
  context > 0 ? out.value(context) : out.null();
  out.key("problem");
  group.refusal.empty() ? out.null() : out.value(group.refusal);
  out.end_object();
}

// The split that the next request for the model gets; nullopt: it needs none, or isn't possible.
std::optional<mesh::SplitPlan> coming_split(const fleet::Allotment& allotment, const ContentKey& content) {
  const auto statuses = fleet::split_status_of(allotment);
  const auto own = std::ranges::find(statuses, content, &fleet::SplitStatus::model);
  if (own == statuses.end() || own->state != fleet::SplitStatus::State::coming) return std::nullopt;
  const auto& splits = allotment.allocation.splits;
  const auto planned = std::ranges::find(splits, content, &mesh::SplitDecision::model);
  if (planned != splits.end()) return planned->plan;
  const auto& models = allotment.situation.models;
  const auto known = std::ranges::find(models, content, &mesh::AllocationModel::content);
  if (known == models.end()) return std::nullopt;
  return fleet::predict_plan(allotment.situation, *known, allotment.rules.max_wait).split.plan;
}

void write_prediction(json::Writer& out, const fleet::MeshView& view, const mesh::AllocationModel& model) {
  const auto prediction = fleet::predict_plan(view.allotment->situation, model, view.allotment->rules.max_wait);
  out.begin_object().field("need_bytes", prediction.need).field("have_bytes", prediction.have).key("alone");
  prediction.alone ? out.value(view.name_of(*prediction.alone)) : out.null();
  out.key("split");
  if (prediction.split.plan) {
    out.begin_object();
    write_split(out, view, *prediction.split.plan);
    out.end_object();
  } else {
    out.null();
  }
  out.key("short");
  if (prediction.split.shortage) {
    const auto& what = *prediction.split.shortage;
    out.begin_object().field("obstacle", mesh::name_of(what.obstacle)).field("text", what.text);
    out.field("need_bytes", what.need).field("have_bytes", what.have).end_object();
  } else {
    out.null();
  }
  out.end_object();
}

}  // namespace

void write_plan(json::Writer& out, const fleet::MeshView& view) { write_lines(out, view, std::nullopt); }

void write_plan_of(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model) {
  write_lines(out, view, model.content);
  out.key("groups").begin_array();
  for (const auto& node : view.catalog->nodes()) {
    if (!node.node_state || !mesh::is_routable(node.reach)) continue;
    for (const auto& group : node.node_state->groups)
      if (group.model == model.content) write_group(out, view, node.id, group, context_at(model, node.id));
  }
  out.end_array().key("foretold");
  if (view.allotment) {
    const auto& models = view.allotment->situation.models;
    const auto known = std::ranges::find(models, model.content, &mesh::AllocationModel::content);
    if (known != models.end()) return write_prediction(out, view, *known);
  }
  out.null();
}

void write_coming_split(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model,
                        const mesh::Choice& choice) {
  out.key("split");
  const auto split = choice.node || !view.allotment ? std::nullopt : coming_split(*view.allotment, model.content);
  if (!split) {
    out.null();
    return;
  }
  out.begin_object();
  write_split(out, view, *split);
  out.end_object();
}

void write_reasons(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model) {
  out.key("allocation").begin_array();
  if (view.allotment) {
    const auto& lines = view.allotment->allocation;
    const auto write_all = [&](const auto& all) {
      for (const auto& line : all)
        if (line.model == model.content) out.value(line.why);
    };
    write_all(lines.assignments);
    write_all(lines.unloads);
    write_all(lines.unserved);
    write_all(lines.unsplit);
  }
  for (const auto& node : view.catalog->nodes()) {
    if (!node.node_state || !mesh::is_routable(node.reach)) continue;
    for (const auto& group : node.node_state->groups)
      if (group.model == model.content && !group.refusal.empty()) out.value(group.refusal);
  }
  out.end_array();
}

}  // namespace corral::api
