#include "fleet/requests/mesh_routes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/secret.h"
#include "fleet/base/errors.h"
#include "fleet/base/not_found.h"
#include "mesh/catalog/choice.h"

namespace corral::fleet {
namespace {

constexpr std::chrono::seconds kAtOnce{1};

std::shared_ptr<const RemoteModel> remote_model_of(const mesh::Catalog& catalog, const mesh::MeshModel& model) {
  auto far = std::make_shared<RemoteModel>();
  far->name = ModelName(model.name);
  for (const auto& alias : model.aliases) far->aliases.emplace_back(alias);
  far->checkpoint = model.source;
  far->type = model.type;
  far->size = Bytes(model.bytes);
  far->content = model.content;
  for (const auto& copy : model.copies)
    if (copy.node->reach != mesh::Reach::own) far->at.push_back(catalog.names().shown(copy.node->id));
  if (model.facts == nullptr) return far;
  const auto& facts = *model.facts;
  if (model.is_here()) far->here_as = facts.name;
  if (far->checkpoint.empty()) far->checkpoint = facts.checkpoint;
  far->labels = facts.labels;
  far->created = WallTime(std::chrono::seconds(facts.created));
  far->traits.architecture = facts.architecture;
  far->traits.quantisation = facts.quantisation;
  if (facts.parameters > 0) far->traits.parameters = facts.parameters;
  far->traits.context_length = facts.context_trained;
  far->traits.tools = facts.tools;
  far->traits.thinking = facts.thinking;
  far->traits.vision = facts.vision;
  return far;
}

// The model of the query: the same content, even if its name has changed meaning since.
const mesh::MeshModel* meant(const mesh::Catalog& catalog, const models::ModelInfo& model) {
  const auto* named = catalog.find(model.name.value()).model;
  const auto* far = as_remote_model(model);
  if (far == nullptr) return named != nullptr && named->is_here() ? named : nullptr;
  if (named != nullptr && named->content == far->content) return named;
  const auto all = catalog.models();
  const auto same = std::ranges::find(all, far->content, &mesh::MeshModel::content);
  if (same != all.end()) return &*same;
  // Its hash has become known meanwhile.
  const bool hashed = far->content.pending && named != nullptr && named->bytes == far->size.value();
  return hashed ? named : nullptr;
}

Error no_node(const mesh::Catalog& catalog, const mesh::MeshModel& model, const mesh::Choice& choice) {
  if (!choice.shortage) {
    return {make_error_code(errc::nowhere), fmt::format("no node of the mesh can serve '{}' now", model.name)};
  }
  const auto& shortage = *choice.shortage;
  Error error(make_error_code(errc::nowhere),
              fmt::format("no node of the mesh can serve '{}' now: {}", model.name, shortage.text));
  if (shortage.retry_after.count() > 0) error.retry_after = shortage.retry_after;
  if (shortage.need > 0) error.memory.push_back({catalog.names().shown(shortage.node), shortage.need, shortage.have});
  return error;
}

}  // namespace

Result<models::Catalog::Model> MeshRoutes::find(std::string_view name) const {
  const auto catalog = newest_();
  if (!catalog) return std::unexpected(unknown_model(name));
  const auto found = catalog->find(name);
  if (found.model != nullptr && !found.model->copies.empty()) return remote_model_of(*catalog, *found.model);
  return std::unexpected(why_not_found(*catalog, name, found, clock_.now()));
}

Result<SelectedNode> MeshRoutes::choose(const NodeQuery& query) {
  const auto catalog = newest_();
  if (!catalog) return fail(errc::nowhere, "this node is in no mesh");
  const auto* model = meant(*catalog, query.model);
  if (model == nullptr) {
    // The model existed at the lookup: its nodes have just left, or the name has changed meaning.
    const auto& name = query.model.name.value();
    const auto now_called = find(name);
    if (!now_called) return std::unexpected(now_called.error());
    Error changed(make_error_code(errc::nowhere),
                  fmt::format("the model of the name '{}' has just changed: try again", name));
    changed.retry_after = kAtOnce;
    return std::unexpected(std::move(changed));
  }
  const auto now = clock_.now();
  const mesh::ChoiceQuery wanted{.excluded = query.avoid,
                                 .in_flight = query.busy,
                                 .host_of_conversation = memory_.host_of(query.conversation, model->content, now),
                                 .recent_load = memory_.recent_load(model->content, now)};
  const auto choice = mesh::choose(*catalog, *model, wanted);
  if (!choice.node) return std::unexpected(no_node(*catalog, *model, choice));
  const auto copy = std::ranges::find_if(
      model->copies, [&choice](const mesh::ModelCopy& one) { return one.node->id == *choice.node; });
  if (copy == model->copies.end()) return std::unexpected(no_node(*catalog, *model, choice));
  if (query.conversation != 0) memory_.talked(query.conversation, model->content, *choice.node, now);
  if (choice.rank > mesh::Rank::busy) memory_.loaded(model->content, *choice.node, now);
  const auto& there = *copy->model;
  const auto& all = choice.candidates;
  const bool alone = all.size() < 2 || all[1].rank == mesh::Rank::none;
  return SelectedNode{.node = *choice.node,
                      .node_name = catalog->names().shown(*choice.node),
                      .model = there.name,
                      .content = there.hash ? to_hex(*there.hash) : std::string(),
                      .context = copy->serving != nullptr ? copy->serving->context : there.context_usable,
                      .alone = alone};
}

}  // namespace corral::fleet
