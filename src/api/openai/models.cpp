// The models there are, with what is known of each and whether it is in memory.
#include <algorithm>
#include <map>
#include <vector>

#include "api/admin/mesh_json.h"
#include "api/openai/mesh_models.h"
#include "api/routes.h"
#include "dialects/error_teller.h"
#include "fleet/elsewhere.h"
#include "json/writer.h"
#include "models/errc.h"
#include "residency/server_state.h"

namespace corral::api {
namespace {

// "status.value" of a model: what its server's state means to a client.
std::string_view status_value(residency::ServerState state) {
  using residency::ServerState;
  switch (state) {
    case ServerState::loading:
      return "loading";
    case ServerState::downsizing:
    case ServerState::downsized:
      return "downsized";
    case ServerState::failed:
      return "failed";
    case ServerState::queued:
    case ServerState::evicting:
    case ServerState::gone:
      return "unloaded";
    default:
      return "loaded";
  }
}

using States = std::map<ModelName, std::string_view>;

States states_of(const router::Report& report) {
  States states;
  for (const auto& failure : report.snapshot.failures)
    if (!failure.under_requests || failure.cooling > Millis(0)) states[failure.model] = "failed";
  for (const auto& server : report.servers) states[server.view.spec->name] = status_value(server.view.state);
  if (report.snapshot.loading) states[report.snapshot.loading->spec->name] = "loading";
  return states;
}

// What a model's members don't say of themselves: how it is, and what is saved for it.
struct House {
  States states;
  router::SavedOptions saved;
  MeshModels mesh;
};

async::Task<House> look(Context& context) {
  const auto report = co_await context.router.report();
  auto saved = co_await context.router.saved_options();
  auto view = context.node != nullptr ? context.node->view() : nullptr;
  co_return House{states_of(report), std::move(saved), MeshModels(std::move(view))};
}

void write_model(json::Writer& out, const models::ModelInfo& model, const House& house,
                 const router::ModelContext& window) {
  const States& states = house.states;
  const auto state = states.find(model.name);
  out.begin_object();
  out.field("id", model.name.value()).field("object", "model");
  out.field("created", epoch_millis(model.created) / 1000).field("owned_by", "corral");
  out.field("checkpoint", model.checkpoint).field("recipe", model.recipe).field("type", name_of(model.type));
  out.field("downloaded", true);
  out.field("size", static_cast<double>(model.size.value()) / 1e9).field("size_bytes", model.size.value());
  // What a conversation may have, now or after a load; and what the model was trained with.
  out.field("context_length", window.usable).field("max_context_length", window.trained);
  out.field("max_context_window", window.trained);
  out.field("architecture", model.traits.architecture).field("quantization", model.traits.quantisation);
  if (model.traits.parameters) out.field("parameters", *model.traits.parameters);
  out.key("labels").begin_array();
  for (const auto& label : model.labels) out.value(label);
  out.end_array();
  out.key("capabilities").begin_object();
  out.field("chat", model.type == ModelType::llm)
      .field("tools", model.traits.tools)
      .field("reasoning", model.traits.thinking);
  out.field("vision", model.traits.vision && !model.mmproj.empty()).end_object();
  out.key("status").begin_object().field("value", state == states.end() ? std::string_view("unloaded") : state->second);
  const auto* in_mesh = house.mesh.own(model.name);
  if (in_mesh != nullptr) write_mesh_status(out, *in_mesh);
  out.end_object();
  if (in_mesh != nullptr) write_copies(out, house.mesh.view(), *in_mesh);
  const auto saved = house.saved.find(model.name);
  out.key("recipe_options").begin_object();
  if (saved != house.saved.end()) config::write_members(out, saved->second, config::Members::all);
  out.end_object();
  out.end_object();
}

// As of the last scan, which takes no time; with ?rescan=true what is on disk now.
async::Task<http::Response> list(Context& context, http::Request request) {
  const bool rescan = http::query_value(request.head.query(), "rescan") == "true";
  auto looking = rescan ? context.models.fresh_catalog() : context.models.catalog();
  const auto catalog = co_await std::move(looking);
  const auto house = co_await look(context);
  const std::vector<backends::ModelPtr> all(catalog->models().begin(), catalog->models().end());
  const auto windows = co_await context.router.contexts(all);
  std::string body;
  json::Writer out(body);
  out.begin_object().field("object", "list").key("data").begin_array();
  std::size_t number = 0;
  for (const auto& model : all) write_model(out, *model, house, windows[number++]);
  for (const auto* model : house.mesh.far()) write_far_model(out, house.mesh.view(), *model);
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> one(Context& context, std::string id) {
  const auto model = co_await context.models.find(id);
  const auto house = co_await look(context);
  std::string body;
  json::Writer out(body);
  if (!model || fleet::far_model(**model) != nullptr) {
    const auto* far = house.mesh.find_far(id);
    if (far == nullptr && !model) {
      // What others know of the name says more than that nobody has it.
      const auto elsewhere = context.elsewhere != nullptr ? context.elsewhere->find(id) : model;
      const bool known = !elsewhere && elsewhere.error().code != models::errc::model_not_found;
      co_return dialects::error_response(known ? elsewhere.error() : model.error());
    }
    if (far != nullptr) {
      write_far_model(out, house.mesh.view(), *far);
      co_return http::Response::json(200, std::move(body));
    }
  }
  const std::vector<backends::ModelPtr> all = {*model};
  const auto windows = co_await context.router.contexts(all);
  write_model(out, **model, house, windows.front());
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_models(std::vector<http::Route>& routes, Context& context) {
  const http::RouteHandler on_list = [&context](http::Request request, http::PathParams) {
    return list(context, std::move(request));
  };
  add_core(routes, "GET", "models", on_list);
  routes.push_back({"GET", "/models", on_list});
  add_core(routes, "GET", "models/{id...}",
           [&context](http::Request, http::PathParams params) { return one(context, std::move(params["id"])); });
}

}  // namespace corral::api
