#include "cli/commands/mesh_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell_word.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/server/mesh_plan_wire.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"

namespace corral::cli {
namespace {

constexpr const char* kMesh = "/api/v1/mesh";

void line(CommandContext& context, const std::string& text) { context.terminal.out << printable(text) << '\n'; }

std::string context_text(std::int64_t tokens) {
  return tokens > 0 ? fmt::format(", with {} tokens of context", tokens) : std::string();
}

void print_shares(const std::vector<MeshPlan::Share>& shares, const std::string& host_id, CommandContext& context) {
  Table table({{"NODE"}, {"LAYERS", Align::right}, {"MEMORY", Align::right}});
  for (const auto& share : shares)
    table.add({share.id == host_id ? share.node + " (host)" : share.node, std::to_string(share.layers),
               human_bytes(share.memory)});
  table.print(context.terminal);
}

void print_lines(const MeshPlan& plan, CommandContext& context) {
  if (!plan.assignments.empty()) {
    Table table({{"NODE"}, {"MODEL"}, {"PART"}, {"WHY"}});
    for (const auto& one : plan.assignments) table.add({one.node, one.model, one.part, one.why});
    table.print(context.terminal);
  }
  for (const auto& why : plan.unloads) line(context, why);
  for (const auto& why : plan.unserved) line(context, "not served: " + why);
  for (const auto& why : plan.unsplit) line(context, "not split: " + why);
}

void print_prediction(const MeshPlan& plan, CommandContext& context) {
  const auto needs = fmt::format("{} needs {}", plan.model, human_bytes(plan.need));
  if (!plan.alone.empty()) {
    line(context, fmt::format("{}; {} can hold it alone, a split would only be slower", needs, plan.alone));
  } else if (plan.split) {
    line(
        context,
        fmt::format("{}; no node can hold that alone, so it would be split: {:.1f} tokens/s, loads in {:.0f} s{}",
                    needs, plan.split->tokens_per_second, plan.split->load_seconds, context_text(plan.split->context)));
    print_shares(plan.split->shares, plan.split->host_id, context);
  } else if (!plan.shortage.empty()) {
    line(context, fmt::format("{}; it cannot be served: {}", needs, plan.shortage));
  }
}

void print_groups(const MeshPlan& plan, CommandContext& context) {
  for (const auto& group : plan.groups) {
    const auto state = group.running ? std::string("serves") : group.stage;
    line(context, fmt::format("{} hosts it over {} nodes: {}{}{}", group.host, group.shares.size(), state,
                              context_text(group.context), group.problem.empty() ? "" : "; " + group.problem));
    print_shares(group.shares, group.host_id, context);
  }
}

}  // namespace

Result<int> show_plan(const std::string& model, CommandContext& context) {
  const auto part = model.empty() ? std::string() : "/" + model_path(model).substr(sizeof("/api/v1/models/") - 1);
  const auto text = fetch(context.api, ApiRequest::get(fmt::format("{}/plan{}", kMesh, part)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto plan = parse_mesh_plan(*text);
  if (!plan) return std::unexpected(plan.error());
  print_lines(*plan, context);
  print_groups(*plan, context);
  if (!model.empty() && plan->groups.empty()) print_prediction(*plan, context);
  if (model.empty() && plan->assignments.empty() && plan->unloads.empty() && plan->unserved.empty())
    context.terminal.err << "The plan is empty: no node has a model for the mesh, and none is in demand\n";
  return kExitOk;
}

Result<int> assign_model(const std::string& node, const std::string& model, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::post(fmt::format("{}/assign", kMesh), assign_body(node, model)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto waits_for = parse_assigned(*text);
  if (!waits_for) return std::unexpected(waits_for.error());
  if (model == kNothing) {
    line(context, fmt::format("{} unloads its model of the mesh, and gets no other", node));
  } else if (model == kAuto) {
    line(context, fmt::format("{} gets the model of the plan", node));
  } else if (!waits_for->empty()) {
    line(context, fmt::format("{} is assigned to {}, but does not serve it yet: {}", node, model, *waits_for));
  } else {
    line(context,
         fmt::format("{} will serve {}: corral mesh plan {} shows the progress", node, model, shell_word(model)));
  }
  return kExitOk;
}

Result<int> unload_everywhere(const std::string& model, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::post(fmt::format("{}/unload", kMesh), mesh_unload_body(model)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto done = parse_mesh_unload(*text);
  if (!done) return std::unexpected(done.error());
  if (done->nodes.empty()) {
    line(context, fmt::format("no node has {} for the mesh: no node loads it before the next request for it", model));
  } else {
    line(context, fmt::format("{} is unloaded by {} after its running requests, until the next request for it", model,
                              fmt::join(done->nodes, ", ")));
  }
  for (const auto& refused : done->refused) context.terminal.err << printable("warning: " + refused) << '\n';
  return kExitOk;
}

}  // namespace corral::cli
