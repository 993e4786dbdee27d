#include "cli/server/mesh_plan_wire.h"

#include "cli/server/answer_fields.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

std::vector<MeshPlan::Share> shares_in(const json::Value& value) {
  std::vector<MeshPlan::Share> shares;
  each(value, "shares", [&](const json::Value& item) {
    shares.push_back({.node = text_of(item, "node"),
                      .id = text_of(item, "id"),
                      .layers = integer_of(item, "layers").value_or(0),
                      .memory = bytes_of(item, "memory_bytes").value_or(0)});
  });
  return shares;
}

void read_prediction(const json::Value& prediction, MeshPlan& plan) {
  plan.need = bytes_of(prediction, "need_bytes").value_or(0);
  plan.alone = text_of(prediction, "alone");
  if (const auto* split = json::find(prediction, "split"); split != nullptr && split->is_object()) {
    plan.split = MeshPlan::Split{.host = text_of(*split, "host"),
                                 .host_id = text_of(*split, "host_id"),
                                 .shares = shares_in(*split),
                                 .tokens_per_second = json::number_or(*split, "tokens_per_second", 0),
                                 .load_seconds = json::number_or(*split, "load_seconds", 0),
                                 .context = integer_of(*split, "context").value_or(0)};
  }
  if (const auto* shortage = json::find(prediction, "short")) plan.shortage = text_of(*shortage, "text");
}

}  // namespace

Result<MeshPlan> parse_mesh_plan(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  MeshPlan plan{.model = text_of(*value, "model")};
  each(*value, "assignments", [&](const json::Value& item) {
    plan.assignments.push_back(
        {text_of(item, "node"), text_of(item, "model"), text_of(item, "part"), text_of(item, "why")});
  });
  each(*value, "unloads", [&](const json::Value& item) { plan.unloads.push_back(text_of(item, "why")); });
  each(*value, "unserved", [&](const json::Value& item) { plan.unserved.push_back(text_of(item, "why")); });
  each(*value, "unsplit", [&](const json::Value& item) { plan.unsplit.push_back(text_of(item, "why")); });
  each(*value, "groups", [&](const json::Value& item) {
    plan.groups.push_back({.host = text_of(item, "host"),
                           .host_id = text_of(item, "host_id"),
                           .stage = text_of(item, "stage"),
                           .problem = text_of(item, "problem"),
                           .running = json::bool_or(item, "running", false),
                           .shares = shares_in(item),
                           .context = integer_of(item, "context").value_or(0)});
  });
  if (const auto* prediction = json::find(*value, "foretold")) read_prediction(*prediction, plan);
  return plan;
}

Result<MeshUnload> parse_mesh_unload(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  return MeshUnload{names_of(*value, "nodes"), names_of(*value, "refused")};
}

Result<std::string> parse_assigned(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  return text_of(*value, "waits_for");
}

std::string assign_body(std::string_view node, std::string_view model) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("node", node);
  if (model == kNothing || model == kAuto) {
    out.field(model, true);
  } else {
    out.field("model", model);
  }
  out.end_object();
  return body;
}

std::string mesh_unload_body(std::string_view model) {
  std::string body;
  json::Writer(body).begin_object().field("model", model).end_object();
  return body;
}

}  // namespace corral::cli
