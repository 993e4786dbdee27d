#include "api/admin/mesh_json.h"

#include "base/secret.h"
#include "fleet/base/node_options.h"

namespace corral::api {
namespace {

void write_text_or_null(json::Writer& out, std::string_view name, const std::string& text) {
  out.key(name);
  text.empty() ? out.null() : out.value(text);
}

void write_addresses(json::Writer& out, const std::vector<mesh::Address>& addresses) {
  out.key("addresses").begin_array();
  for (const auto& address : addresses) out.value(mesh::to_text(address));
  out.end_array();
}

std::string_view name_of(mesh::Reach reach) {
  switch (reach) {
    case mesh::Reach::own:
      return "own";
    case mesh::Reach::linked:
      return "linked";
    case mesh::Reach::away:
      return "away";
  }
  return "";
}

void write_memory(json::Writer& out, const mesh::NodeState& node_state) {
  out.key("memory").begin_array();
  for (const auto& memory : node_state.memory) {
    out.begin_object().field("device", memory.name).field("gpu", memory.gpu);
    out.field("total_bytes", memory.total).field("free_bytes", memory.free);
    out.field("evictable_bytes", memory.evictable).field("lent_bytes", memory.lent).end_object();
  }
  out.end_array();
}

void write_serving(json::Writer& out, const mesh::NodeState& node_state) {
  out.key("serving").begin_array();
  for (const auto& model : node_state.serving) {
    out.begin_object().field("model", model.name).field("state", mesh::name_of(model.state));
    out.field("context", model.context).field("running", model.running).field("waiting", model.waiting);
    out.field("tokens_per_second", model.tokens_per_second).field("idle_ms", model.idle_ms);
    out.field("memory_bytes", model.bytes).field("lent", model.lent).end_object();
  }
  out.end_array();
}

void write_node_state(json::Writer& out, const mesh::NodeState& node_state) {
  out.field("role", mesh::name_of(node_state.role))
      .field("version", node_state.version)
      .field("llamacpp", node_state.engine);
  out.key("weight_speeds").begin_object();
  for (const auto& speed : node_state.weight_speeds) out.field(speed.type, speed.bytes_per_second);
  out.end_object();
  out.field("protocol_minor", node_state.minor).field("disk_free_bytes", node_state.disk_free);
  out.field("models", node_state.models.size() + node_state.more_models);
  write_memory(out, node_state);
  write_serving(out, node_state);
}

void write_node(json::Writer& out, const fleet::NodeView& node) {
  out.begin_object().field("id", mesh::to_text(node.id)).field("name", node.name);
  out.field("self", node.reach == mesh::Reach::own).field("routable", mesh::is_routable(node.reach));
  out.field("reach", name_of(node.reach)).field("link", node.link);
  write_addresses(out, node.addresses);
  out.key("rtt_ms");
  node.round_trip ? out.value(node.round_trip->count()) : out.null();
  out.field("since", epoch_millis(node.since));
  const auto* between = node.last_end.empty() || node.last_failure.empty() ? "" : "; ";
  write_text_or_null(out, "last_end", node.last_end + between + node.last_failure);
  out.field("bytes_in", node.bytes_in).field("bytes_out", node.bytes_out).field("requests", node.held);
  out.field("announced", node.node_state != nullptr);
  if (node.node_state) write_node_state(out, *node.node_state);
  out.end_object();
}

void write_copy(json::Writer& out, const fleet::MeshView& view, const mesh::ModelCopy& copy) {
  out.begin_object().field("id", mesh::to_text(copy.node->id));
  out.field("name", view.name_of(copy.node->id));
  out.field("self", copy.node->reach == mesh::Reach::own);
  out.field("as", copy.model->name).field("on_disk", true);
  out.field("state", copy.serving != nullptr ? mesh::name_of(copy.serving->state) : std::string_view("unloaded"));
  out.end_object();
}

void write_model(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model) {
  out.begin_object().field("id", model.name).field("type", corral::name_of(model.type));
  out.field("status", mesh::name_of(model.status)).field("size_bytes", model.bytes);
  out.key("content");
  model.content.pending ? out.null() : out.value(mesh::hash8(model.content));
  write_text_or_null(out, "source", model.source);
  write_text_or_null(out, "host", model.host ? view.name_of(*model.host) : std::string());
  write_copies(out, view, model);
  out.end_object();
}

}  // namespace

void write_copies(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model) {
  out.key("nodes").begin_array();
  for (const auto& copy : model.copies) write_copy(out, view, copy);
  out.end_array();
}

void write_choice(json::Writer& out, const fleet::MeshView& view, const mesh::Choice& choice) {
  write_text_or_null(out, "node", choice.node ? view.name_of(*choice.node) : std::string());
  out.field("here", choice.node && *choice.node == view.self).field("rank", mesh::name_of(choice.rank));
  out.key("short");
  if (choice.shortage) {
    const auto& what = *choice.shortage;
    out.begin_object().field("obstacle", mesh::name_of(what.obstacle)).field("text", what.text);
    out.field("need_bytes", what.need).field("have_bytes", what.have);
    out.field("retry_after", what.retry_after.count()).end_object();
  } else {
    out.null();
  }
  out.key("candidates").begin_array();
  for (const auto& candidate : choice.candidates) {
    out.begin_object().field("id", mesh::to_text(candidate.node)).field("name", candidate.node_name);
    out.field("rank", mesh::name_of(candidate.rank)).field("obstacle", mesh::name_of(candidate.obstacle));
    out.field("need_bytes", candidate.need).field("have_bytes", candidate.have).field("text", candidate.text);
    out.end_object();
  }
  out.end_array();
}

void write_mesh(json::Writer& out, const fleet::MeshView& view) {
  out.field("status", fleet::name_of(view.phase)).key("mesh_id");
  view.mesh ? out.value(mesh::short_text(*view.mesh)) : out.null();
  out.key("node").begin_object();
  out.key("id");
  view.self != mesh::NodeId() ? out.value(mesh::to_text(view.self)) : out.null();
  out.field("name", view.name).field("role", mesh::name_of(view.role)).field("epoch", view.epoch).end_object();
  out.key("listening");
  view.listening ? out.value(mesh::to_text(*view.listening)) : out.null();
  write_addresses(out, view.advertised);
  std::size_t routable = 0;
  for (const auto& node : view.nodes) routable += mesh::is_routable(node.reach) ? 1 : 0;
  out.field("members", view.nodes.size()).field("routable", routable).field("open_tokens", view.open_tokens);
  write_text_or_null(out, "problem", view.problem);
}

void write_nodes(json::Writer& out, const fleet::MeshView& view) {
  out.key("nodes").begin_array();
  for (const auto& node : view.nodes) write_node(out, node);
  out.end_array();
}

void write_nodes_briefly(json::Writer& out, const fleet::MeshView& view) {
  out.key("nodes").begin_array();
  for (const auto& node : view.nodes) {
    out.begin_object().field("name", node.name).field("self", node.reach == mesh::Reach::own);
    out.field("routable", mesh::is_routable(node.reach));
    if (node.node_state) write_serving(out, *node.node_state);
    out.end_object();
  }
  out.end_array();
}

void write_copy(json::Writer& out, const fleet::MeshView& view, const fleet::CopyView& copy) {
  out.field("model", copy.model).field("content", to_hex(copy.content)).field("state", fleet::name_of(copy.state));
  out.field("done_bytes", copy.done).field("total_bytes", copy.total);
  out.field("bytes_per_second", static_cast<std::uint64_t>(copy.bytes_per_second));
  write_text_or_null(out, "from", copy.from ? view.name_of(*copy.from) : std::string());
  out.field("node", view.name).field("by_request", copy.by_allocation);
  write_text_or_null(out, "problem", copy.problem);
}

void write_copies_here(json::Writer& out, const fleet::MeshView& view) {
  out.key("copies").begin_array();
  for (const auto& copy : view.copies) {
    out.begin_object();
    write_copy(out, view, copy);
    out.end_object();
  }
  out.end_array();
}

void write_groups(json::Writer& out, const fleet::MeshView& view) {
  out.key("groups").begin_array();
  for (const auto& group : view.groups) {
    out.begin_object().field("model", group.model).field("content", mesh::hash8(group.content));
    out.field("status", group.status).key("progress");
    group.progress ? out.value(*group.progress) : out.null();
    out.field("by_hand", group.by_hand).field("predicted_tokens_per_second", group.tokens_per_second);
    out.field("predicted_load_seconds", group.load_seconds).key("shares").begin_array();
    for (const auto& part : group.parts) {
      out.begin_object().field("node", view.name_of(part.node)).field("self", part.node == view.self);
      out.field("layers", part.layers).field("memory_bytes", part.bytes).end_object();
    }
    out.end_array();
    write_text_or_null(out, "problem", group.problem);
    out.end_object();
  }
  out.end_array().key("share");
  if (!view.share) {
    out.null();
    return;
  }
  const auto& share = *view.share;
  out.begin_object().field("model", share.model).field("host", view.name_of(share.host)).field("status", share.status);
  out.field("memory_bytes", share.bytes);
  write_text_or_null(out, "problem", share.problem);
  out.end_object();
}

void write_mesh_models(json::Writer& out, const fleet::MeshView& view) {
  out.key("models").begin_array();
  if (view.catalog) {
    for (const auto& model : view.catalog->models()) write_model(out, view, model);
  }
  out.end_array();
}

}  // namespace corral::api
