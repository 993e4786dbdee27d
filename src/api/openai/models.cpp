// All models with their facts, and whether they are in memory.
#include <algorithm>
#include <map>
#include <vector>

#include "api/access/rights.h"
#include "api/admin/mesh_json.h"
#include "api/base/core_routes.h"
#include "api/base/model_status.h"
#include "api/files/find_model.h"
#include "api/openai/anthropic_models.h"
#include "api/openai/lm_studio.h"
#include "api/openai/mesh_models.h"
#include "api/openai/model_details.h"
#include "api/openai/routes.h"
#include "api/supply/supply.h"
#include "dialects/error_filter.h"
#include "dialects/paths.h"
#include "fleet/base/not_found.h"
#include "fleet/base/remote_models.h"
#include "json/writer.h"

namespace corral::api {
namespace {

using States = std::map<ModelName, std::string_view>;

States states_of(const router::Report& report) {
  States states;
  for (const auto& failure : report.snapshot.failures)
    if (!failure.under_requests || failure.cooling > Millis(0)) states[failure.model] = "failed";
  for (const auto& instance : report.instances) states[instance.view.spec->name] = status_value(instance.view.state);
  if (report.snapshot.loading) states[report.snapshot.loading->spec->name] = "loading";
  return states;
}

struct Details {
  ModelDetails of = {};
  bool paths = false;  // for a caller with the right
};

// The changing state of models and their saved options.
struct ModelStates {
  States states;
  router::SavedOptions saved;
  MeshModels mesh;
};

async::Task<ModelStates> look(SupplyContext& context) {
  const auto report = co_await context.core.router.report();
  auto saved = co_await context.core.router.saved_options();
  auto view = context.core.node != nullptr ? context.core.node->view() : nullptr;
  co_return ModelStates{states_of(report), std::move(saved), MeshModels(std::move(view))};
}

void write_capabilities(json::Writer& out, const models::ModelInfo& model, const router::ModelMedia& media) {
  out.key("capabilities").begin_object();
  out.field("chat", model.type == ModelType::llm)
      .field("tools", model.traits.tools)
      .field("reasoning", model.traits.thinking);
  out.field("vision", media.pictures).field("audio", media.sounds);
  out.field("multimodal", media.pictures || media.sounds).end_object();
}

// Names and texts of a model from the configuration; `meta.llamaswap` as llama-swap has it.
void write_declared(json::Writer& out, const models::Declared& declared) {
  if (!declared.title.empty()) out.field("name", declared.title);
  if (!declared.description.empty()) out.field("description", declared.description);
  if (declared.metadata.empty()) return;
  out.key("meta").begin_object().key("llamaswap").raw(declared.metadata).end_object();
}

// Other names that find it, and tags. The names of a given model include its ID, as in llama-server.
void write_listed_names(json::Writer& out, const models::ModelInfo& model) {
  out.key("aliases").begin_array();
  for (const auto& name : model.declared.names) out.value(name);
  if (model.declared.names.empty())
    for (const auto& name : model.aliases) out.value(name.value());
  out.end_array().key("tags").begin_array();
  for (const auto& tag : model.declared.tags) out.value(tag);
  out.end_array();
}

// `alias`: the entry is that of a user's alias of the model; null: of the model itself.
void write_model(json::Writer& out, const models::ModelInfo& model, const ModelStates& house,
                 const router::ModelContext& window, EntryShape shape, const models::UserAlias* alias = nullptr,
                 const Details* details = nullptr) {
  const States& states = house.states;
  const auto state = states.find(model.name);
  const auto status = state == states.end() ? std::string_view("unloaded") : state->second;
  const auto media = router::media_of(model, window.projector);
  const bool lm_studio = shape == EntryShape::lm_studio;
  out.begin_object();
  out.field("id", (alias == nullptr ? model.name : alias->name).value()).field("object", "model");
  if (alias != nullptr) {
    out.field("alias_of", model.name.value());
    out.key("request_defaults").raw(alias->defaults.empty() ? "{}" : alias->defaults);
  }
  out.field("created", epoch_millis(model.created) / 1000).field("owned_by", "corral");
  write_declared(out, model.declared);
  out.field("checkpoint", model.checkpoint).field("recipe", model.recipe);
  out.field("type",
            lm_studio ? lm_studio::type_word(model.type, media.pictures) : std::string_view(name_of(model.type)));
  out.field("downloaded", true);
  out.field("size", static_cast<double>(model.size.value()) / 1e9).field("size_bytes", model.size.value());
  // The context of one conversation (now, or after a load), and the trained context.
  out.field("context_length", window.usable).field("max_context_length", window.trained);
  out.field("max_context_window", window.usable);  // as in health
  out.field("architecture", model.traits.architecture).field("quantization", model.traits.quantisation);
  if (model.traits.parameters) out.field("parameters", *model.traits.parameters);
  out.key("labels").begin_array();
  for (const auto& label : router::labels_with(model, window.projector)) out.value(label);
  out.end_array();
  write_listed_names(out, model);
  if (lm_studio) {
    lm_studio::write_members(out, {.tools = model.traits.tools,
                                   .checkpoint = model.checkpoint,
                                   .architecture = model.traits.architecture,
                                   .status = status,
                                   .context = window.usable});
  } else {
    write_capabilities(out, model, media);
  }
  out.key("status").begin_object().field("value", status);
  const auto* in_mesh = house.mesh.own(model.name);
  if (in_mesh != nullptr) write_mesh_status(out, *in_mesh);
  out.end_object();
  if (in_mesh != nullptr) write_copies(out, house.mesh.view(), *in_mesh);
  const auto saved = house.saved.find(model.name);
  out.key("recipe_options").begin_object();
  if (saved != house.saved.end()) config::write_members(out, saved->second, config::Members::all);
  out.end_object();
  if (details != nullptr) write_details(out, details->of, details->paths);
  out.end_object();
}

// A model that is being downloaded.
void write_coming_model(json::Writer& out, const std::string& name) {
  out.begin_object().field("id", name).field("object", "model").field("owned_by", "corral");
  out.field("checkpoint", name).field("recipe", "llamacpp").field("downloaded", false);
  out.key("labels").begin_array().end_array();
  out.key("status").begin_object().field("value", "downloading").end_object().end_object();
}

// A known model without files here.
void write_known_model(json::Writer& out, const config::KnownModel& model, bool coming) {
  const auto size = config::estimated_size(model);
  out.begin_object().field("id", model.name).field("object", "model").field("owned_by", "corral");
  out.field("checkpoint", model.source()).field("recipe", "llamacpp").field("type", name_of(model.type));
  out.field("downloaded", false).field("size", static_cast<double>(size) / 1e9).field("size_bytes", size);
  out.field("quantization", model.quantisation).key("labels").begin_array();
  for (const auto& label : model.labels) out.value(label);
  out.end_array().key("status").begin_object();
  out.field("value", coming ? "downloading" : "not_downloaded").end_object().end_object();
}

// What ?show_all=true adds: known models without files, and models that are being downloaded.
void write_models_without_files(json::Writer& out, const SupplyContext& context, const models::Catalog& catalog,
                                const MeshModels& mesh) {
  auto coming = context.supply->download_manager.under_way();
  for (const auto& model : context.supply->known.models) {
    const auto source = model.source();
    if (catalog.contains(source) || mesh.find_far(source) != nullptr) continue;
    const bool comes =
        std::erase_if(coming, [&](const auto& name) { return name == source || name == model.name; }) > 0;
    write_known_model(out, model, comes);
  }
  for (const auto& name : coming)
    if (!catalog.contains(name)) write_coming_model(out, name);
}

EntryShape shape_of(const http::Request& request) {
  return lm_studio::is_path(request.head.path()) ? EntryShape::lm_studio : EntryShape::own;
}

bool speaks_anthropic(const http::Request& request) { return request.head.headers.has(dialects::kAnthropicVersion); }

AnthropicModel anthropic_entry(const models::ModelInfo& model, const router::ModelContext& window,
                               const models::UserAlias* alias = nullptr) {
  const auto& name = alias == nullptr ? model.name : alias->name;
  return {.id = name.value(), .created = model.created, .context = window.usable};
}

AnthropicModel anthropic_entry(const mesh::MeshModel& model) {
  AnthropicModel entry{.id = model.name};
  if (model.facts == nullptr) return entry;
  constexpr std::uint64_t kLatest = 9'000'000'000;  // untrusted value of another node; a WallTime ends in 2262
  entry.created = WallTime(std::chrono::seconds(std::min(model.facts->created, kLatest)));
  entry.context = model.facts->context_usable;
  return entry;
}

// One line of a list: a model of this disk, or a user's alias of one.
struct ListedModel {
  const models::ModelInfo& model;
  const router::ModelContext& window;
  const models::UserAlias* alias = nullptr;
};

// The models, then the aliases. `windows` belong to the models of the catalog. `all`: unlisted ones too.
std::vector<ListedModel> listed_models(const models::Catalog& catalog, const std::vector<router::ModelContext>& windows,
                                       bool all) {
  std::vector<ListedModel> listed;
  std::map<ModelName, std::size_t> places;
  auto window = windows.begin();
  for (const auto& model : catalog.models()) {
    const auto& its = *window++;
    if (model->declared.unlisted && !all) continue;
    places.emplace(model->name, listed.size());
    listed.push_back({*model, its});
  }
  for (const auto& alias : catalog.user_aliases()) {
    const auto place = places.find(alias.model);
    if (place == places.end()) continue;
    const auto its = listed[place->second];
    listed.push_back({its.model, its.window, &alias});
  }
  return listed;
}

http::Response list_for_anthropic(std::string_view query, const std::vector<ListedModel>& own, const MeshModels& mesh) {
  std::vector<AnthropicModel> entries;
  for (const auto& [model, window, alias] : own) {
    if (model.type == ModelType::llm) entries.push_back(anthropic_entry(model, window, alias));
  }
  for (const auto* model : mesh.far()) {
    if (model->type == ModelType::llm) entries.push_back(anthropic_entry(*model));
  }
  auto body = anthropic_models(entries, query);
  return body ? http::Response::json(200, std::move(*body)) : dialects::error_response(body.error());
}

// The list of the last scan, without a wait; with ?rescan=true (llama-server: ?reload=1) after a new scan.
async::Task<http::Response> list(SupplyContext& context, http::Request request) {
  const auto query = request.head.query();
  const bool rescan = http::query_value(query, "rescan") == "true" || http::query_value(query, "reload") == "1";
  auto looking = rescan ? context.files.models.fresh_catalog() : context.files.models.catalog();
  const auto catalog = co_await std::move(looking);
  const auto house = co_await look(context);
  const std::vector<backends::ModelPtr> all(catalog->models().begin(), catalog->models().end());
  const auto windows = co_await context.core.router.contexts(all);
  const bool show_all = http::query_value(query, "show_all") == "true";
  const auto own = listed_models(*catalog, windows, show_all);
  if (speaks_anthropic(request)) co_return list_for_anthropic(request.head.query(), own, house.mesh);
  const auto shape = shape_of(request);
  std::string body;
  json::Writer out(body);
  out.begin_object().field("object", "list").key("data").begin_array();
  const auto listed = [shape](ModelType type) { return shape != EntryShape::lm_studio || lm_studio::lists(type); };
  for (const auto& [model, window, alias] : own) {
    if (listed(model.type)) write_model(out, model, house, window, shape, alias);
  }
  for (const auto* model : house.mesh.far()) {
    if (listed(model->type)) write_far_model(out, house.mesh.view(), *model, shape);
  }
  if (context.supply != nullptr && show_all) write_models_without_files(out, context, *catalog, house.mesh);
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

// The options of a request for one model.
struct Asking {
  bool anthropic = false;
  EntryShape shape = EntryShape::own;
  bool details = false;
  bool paths = false;
};

async::Task<http::Response> one(SupplyContext& context, std::string id, Asking asking) {
  const auto [anthropic, shape, with_details, paths] = asking;
  const auto model = co_await find_model(context.files, id);
  const auto house = co_await look(context);
  std::string body;
  json::Writer out(body);
  if (!model || fleet::is_remote(**model)) {
    const auto* far = house.mesh.find_far(id);
    if (far == nullptr) {
      const auto error = model ? fleet::unknown_model(id) : model.error();  // its node has just left
      co_return dialects::error_response(error);
    }
    if (anthropic) co_return http::Response::json(200, anthropic_model(anthropic_entry(*far)));
    write_far_model(out, house.mesh.view(), *far, shape);
    co_return http::Response::json(200, std::move(body));
  }
  const std::vector<backends::ModelPtr> all = {*model};
  const auto windows = co_await context.core.router.contexts(all);
  const auto catalog = co_await context.files.models.catalog();
  const auto* alias = catalog->find_alias(id);
  if (alias != nullptr && alias->model != (*model)->name) alias = nullptr;
  if (anthropic) co_return http::Response::json(200, anthropic_model(anthropic_entry(**model, windows.front(), alias)));
  if (!with_details) {
    write_model(out, **model, house, windows.front(), shape, alias);
    co_return http::Response::json(200, std::move(body));
  }
  Details details{.paths = paths};
  details.of = co_await details_of(context, *model);
  write_model(out, **model, house, windows.front(), shape, alias, &details);
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_models(std::vector<http::Route>& routes, SupplyContext& context) {
  const http::RouteHandler on_list = [&context](http::Request request, http::PathParams) {
    return list(context, std::move(request));
  };
  add_core(routes, "GET", "models", on_list);
  routes.push_back({"GET", "/models", on_list});
  add_core(routes, "GET", "models/{id...}", [&context](http::Request request, http::PathParams params) {
    const Asking asking{.anthropic = speaks_anthropic(request),
                        .shape = shape_of(request),
                        .details = http::query_value(request.head.query(), "details") == "true",
                        .paths = has(request.caller, kAdmin)};
    return one(context, std::move(params["id"]), asking);
  });
}

}  // namespace corral::api
