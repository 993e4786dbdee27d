// Loads and unloads by user order: POST load (with progress on request), POST estimate, POST unload, POST
// /internal/pin.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/admin/load_body.h"
#include "api/admin/load_split.h"
#include "api/admin/routes.h"
#include "api/admin/unload.h"
#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/files/find_model.h"
#include "api/supply/auto_pull.h"
#include "async/spawned_task.h"
#include "backends/engine_protocol.h"
#include "dialects/error_filter.h"
#include "http/sse.h"
#include "json/errors.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "protocol/fields.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr Millis kProgressInterval{100};
constexpr Millis kFetchPing{1'000};

constexpr Field kUnloadFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1},
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
};
constexpr Field kPinFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1},
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
    {.name = "pinned", .kinds = protocol::kBoolean, .required = true},
};

constexpr Field kPressureFields[] = {
    {.name = "pct", .kinds = protocol::kNumber, .required = true, .min = -1, .max = 1},
};

template <const auto& kFields>
const protocol::FieldTable& table() {
  static const protocol::FieldTable instance(kFields);
  return instance;
}

std::string model_name(json::View body) {
  const auto name = body.find("model_name");
  return std::string(name.found() && name.is_string() ? name.as_string() : body.find("model").as_string());
}

using Find = async::Task<Result<backends::ModelPtr>> (*)(FilesContext&, std::string);

async::Task<Result<backends::ModelPtr>> named_model(AdminContext& context, json::View body, Find find) {
  auto name = model_name(body);
  if (name.empty())
    co_return fail(protocol::errc::missing_field, "'model_name' is required: the name of a model, see /v1/models",
                   "model_name");
  co_return co_await find(context.files, std::move(name));
}

// Of a model that other nodes have.
std::string far_body(const fleet::RemoteModel& model, const std::vector<std::string>& warnings) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("model_name", model.name.value());
  out.field("checkpoint", model.checkpoint).field("recipe", model.recipe);
  out.key("context_length").null();
  out.field("max_context_length", model.traits.context_length).key("warnings").begin_array();
  for (const auto& warning : warnings) out.value(warning);
  out.end_array().end_object();
  return body;
}

// With the options in effect, which may differ from the requested ones. `already_loaded`: nothing had to be done.
async::Task<std::string> loaded_body(AdminContext& context, backends::ModelPtr model, bool already_loaded) {
  if (const auto* far = fleet::as_remote_model(*model)) co_return far_body(*far, {});
  const std::vector<backends::ModelPtr> one = {model};
  const auto windows = co_await context.core.router.contexts(one);
  const auto& window = windows.front();
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("model_name", model->name.value());
  out.field("checkpoint", model->checkpoint).field("recipe", model->recipe);
  out.field("context_length", window.usable).field("max_context_length", window.trained);
  out.field("already_loaded", already_loaded);
  out.key("warnings").begin_array();
  if (const auto warning = router::warning_of(window); !warning.empty()) out.value(warning);
  out.end_array().end_object();
  co_return body;
}

// Only for load: in other commands a choice of nodes has no meaning.
const protocol::FieldTable& fields_with_split() {
  static const auto fields = [] {
    std::vector<Field> all(load_fields().fields().begin(), load_fields().fields().end());
    all.push_back({.name = "split",
                   .kinds = protocol::kArray,
                   .min_size = 2,
                   .max_size = mesh::kNodeStateLimits.shares_of_group,
                   .elements = protocol::kString});
    return all;
  }();
  static const protocol::FieldTable table(fields);
  return table;
}

using Loading = async::SpawnedTask<Result<bool>>;

// The load as events: progress until it ends, then complete or error. Destroying them cancels the load.
class LoadEvents final : public http::BodySource {
 public:
  // `split`: the load is over several nodes.
  LoadEvents(AdminContext& context, backends::ModelPtr model, std::shared_ptr<SplitLoad> split,
             std::unique_ptr<Loading> loading)
      : context_(context), model_(std::move(model)), split_(std::move(split)), loading_(std::move(loading)) {}

  async::Task<Result<std::string_view>> read() override {
    if (!loading_) co_return std::string_view();
    const bool done = co_await loading_->wait(context_.core.timers, waited_ ? kProgressInterval : Millis(0));
    waited_ = true;
    if (!done && split_) {
      text_ = progress_event(split_->progress());
      co_return text_;
    }
    if (!done) {
      const auto progress = co_await context_.core.router.progress(model_->name);
      text_ = progress_event({progress ? "loading" : "queued", progress.value_or(0)});
      co_return text_;
    }
    const auto result = loading_->take();
    loading_.reset();
    if (result) {
      const auto body = co_await loaded_body(context_, model_, *result && !split_);
      text_ = http::sse_event("complete", body);
    } else {
      text_ = http::sse_event("error", protocol::error_body(result.error()));
    }
    co_return text_;
  }

 private:
  std::string progress_event(const SplitProgress& progress) const {
    std::string payload;
    json::Writer out(payload);
    out.begin_object().field("model", model_->name.value()).field("stage", progress.stage);
    out.field("progress", progress.progress).end_object();
    return http::sse_event("progress", payload);
  }

  AdminContext& context_;
  const backends::ModelPtr model_;
  const std::shared_ptr<SplitLoad> split_;
  std::unique_ptr<Loading> loading_;
  std::string text_;
  bool waited_ = false;
};

// The load as a listed request, which can be cancelled by its id.
async::Task<Result<bool>> cancellable(AdminContext& context, RequestId id, std::string owner, backends::ModelPtr model,
                                      bool streams, async::Task<Result<bool>> load) {
  const auto executor = co_await async::asio::this_coro::executor;
  router::RequestView about{.id = std::move(id),
                            .kind = router::RequestKind::load,
                            .model = model->name,
                            .path = "/v1/load",
                            .owner = router::OwnerId(std::move(owner)),
                            .stream = streams};
  const router::ActiveRequest active(context.core.forwarder.requests(), executor, std::move(about), model->type);
  auto loading = active.unless_stopped(std::move(load));
  co_return co_await std::move(loading);
}

// An early error has its own HTTP status; later progress and errors are events.
async::Task<http::Response> load_streamed(AdminContext& context, backends::ModelPtr model,
                                          std::shared_ptr<SplitLoad> split, async::Task<Result<bool>> task) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto loading = std::make_unique<Loading>(executor, "load", std::move(task));
  const bool done = co_await loading->wait(context.core.timers, kProgressInterval);
  if (done) {
    const auto result = loading->take();
    if (!result) co_return dialects::error_response(result.error());
    auto response = http::Response::event_stream(nullptr);
    const auto body = co_await loaded_body(context, model, *result && !split);
    response.body = http::Body(http::sse_event("complete", body));
    co_return response;
  }
  co_return http::Response::event_stream(
      std::make_unique<LoadEvents>(context, std::move(model), std::move(split), std::move(loading)));
}

bool flag(json::View body, std::string_view name) {
  const auto found = body.find(name);
  return found.found() && found.as_bool();
}

// Clients that load a model before they use it may continue: the first request loads it.
http::Response load_far(const fleet::RemoteModel& model, bool has_options, bool streams) {
  const auto places = fmt::format("{}", fmt::join(model.at, ", "));
  std::vector<std::string> warnings = {
      fmt::format("'{}' is at {}, which loads it at the first request", model.name.value(), places)};
  if (has_options)
    warnings.push_back(fmt::format("options, 'pinned' and 'save_options' have no effect here: set them at {}", places));
  auto body = far_body(model, warnings);
  if (!streams) return http::Response::json(200, std::move(body));
  auto response = http::Response::event_stream(nullptr);
  response.body = http::Body(http::sse_event("complete", body));
  return response;
}

// Waits for the load; the object lives as long as the task.
async::Task<Result<bool>> run_split(std::shared_ptr<SplitLoad> split) { co_return co_await split->run(); }

// Loads over several nodes. The host decides how each node loads its share.
async::Task<http::Response> load_split(AdminContext& context, http::Request& request, json::View body,
                                       backends::ModelPtr model, bool has_options) {
  if (has_options) {
    const Error error =
        Error(make_error_code(protocol::errc::unsupported_value),
              "'split' cannot be combined with other options: the host loads the model with the options saved there",
              "split");
    co_return dialects::error_response(error);
  }
  std::vector<std::string> nodes;
  body.find("split").each_element([&](json::View node) { nodes.emplace_back(node.as_string()); });
  const auto split = std::make_shared<SplitLoad>(context.core, model, std::move(nodes));
  const bool streams = flag(body, "stream");
  auto task = cancellable(context, request.id, request.caller.key, model, streams, run_split(split));
  if (streams) {
    auto streaming = load_streamed(context, model, split, std::move(task));
    co_return co_await std::move(streaming);
  }
  const auto loaded = co_await std::move(task);
  if (!loaded) co_return dialects::error_response(loaded.error());
  auto done = co_await loaded_body(context, model, false);
  co_return http::Response::json(200, std::move(done));
}

async::Task<http::Response> load_found(AdminContext& context, http::Request request, json::Peek peek,
                                       backends::ModelPtr model) {
  const auto body = peek.root();
  auto options = co_await allowed_patch_of(context.access, request.caller, body);
  if (!options) co_return dialects::error_response(options.error());
  std::optional<bool> pin;
  if (const auto pinned = body.find("pinned"); pinned.found() && !pinned.is_null()) pin = pinned.as_bool();
  const bool has_options = options->set != config::LoadOptions() || pin || flag(body, "save_options");
  if (body.find("split").is_array()) {
    auto splitting = load_split(context, request, body, model, has_options);
    co_return co_await std::move(splitting);
  }
  if (const auto* far = fleet::as_remote_model(*model)) {
    co_return load_far(*far, has_options, flag(body, "stream"));
  }
  auto task = cancellable(context, request.id, request.caller.key, model, flag(body, "stream"),
                          context.core.router.load(model, std::move(*options), pin, flag(body, "save_options")));
  if (flag(body, "stream")) co_return co_await load_streamed(context, model, nullptr, std::move(task));
  const auto loaded = co_await std::move(task);
  if (!loaded) co_return dialects::error_response(loaded.error());
  auto done = co_await loaded_body(context, model, *loaded);
  co_return http::Response::json(200, std::move(done));
}

async::Task<http::Response> load(AdminContext& context, http::Request request) {
  auto peek = co_await checked_body(context.bodies, request, fields_with_split());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto spelling = check_members(peek->root(), fields_with_split());
  if (!spelling) co_return dialects::error_response(spelling.error());
  auto model = co_await named_model(context, peek->root(), find_model);
  if (model) {
    auto loading = load_found(context, std::move(request), std::move(*peek), std::move(*model));
    co_return co_await std::move(loading);
  }
  auto name = model_name(peek->root());
  if (!fetches(context.supply, request.caller, name, model.error())) co_return dialects::error_response(model.error());
  const auto ping = flag(peek->root(), "stream") ? std::optional(kFetchPing) : std::nullopt;
  WhenHere then = [&context, request = std::move(request), peek = std::move(*peek)](backends::ModelPtr here) mutable {
    return load_found(context, std::move(request), std::move(peek), std::move(here));
  };
  auto answering = answer_when_here(context.supply, std::move(name), ping, std::move(then), "error");
  co_return co_await std::move(answering);
}

// The memory that load with this body needs; nothing is loaded.
async::Task<http::Response> estimate(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, load_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto spelling = check_members(peek->root(), load_fields());
  if (!spelling) co_return dialects::error_response(spelling.error());
  const auto model = co_await named_model(context, peek->root(), find_own_model);
  if (!model) co_return dialects::error_response(model.error());
  auto options = co_await allowed_patch_of(context.access, request.caller, peek->root());
  if (!options) co_return dialects::error_response(options.error());
  const auto estimated = co_await context.core.router.estimate(*model, std::move(*options));
  if (!estimated) co_return dialects::error_response(estimated.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("model_name", (*model)->name.value()).key("memory");
  backends::write(out, *estimated);
  out.end_object();
  co_return http::Response::json(200, std::move(body));
}

void write_names(json::Writer& out, std::string_view key, const std::vector<ModelName>& names) {
  out.key(key).begin_array();
  for (const auto& name : names) out.value(name.value());
  out.end_array();
}

// A body without a model name unloads all models, so an unknown member is an error: it may be a misspelt name.
Result<> means_all(json::View body) {
  Result<> fine;
  body.each_member([&](std::string_view name, json::View) {
    if (table<kUnloadFields>().find(name) != nullptr) return true;
    fine = fail(protocol::errc::unsupported_value,
                fmt::format("unload takes 'model_name', or an empty body for all models, not '{}'", name),
                std::string(name));
    return false;
  });
  return fine;
}

async::Task<http::Response> unload(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kUnloadFields>(), true);
  if (!peek) co_return dialects::error_response(peek.error());
  auto name = model_name(peek->root());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success");
  if (!name.empty()) {
    auto unloading = unload_named(context, std::move(name));
    const auto unloaded = co_await std::move(unloading);
    if (!unloaded) co_return dialects::error_response(unloaded.error());
    out.field("message", "Model unloaded successfully").field("model_name", unloaded->value()).end_object();
    co_return http::Response::json(200, std::move(body));
  }
  const auto all = means_all(peek->root());
  if (!all) co_return dialects::error_response(all.error());
  auto unloading = unload_all(context.core);
  const auto unloaded = co_await std::move(unloading);
  if (!unloaded) co_return dialects::error_response(unloaded.error());
  out.field("message", unloaded->draining.empty() ? "All models unloaded successfully"
                                                  : "Models with running requests unload when these are finished");
  write_names(out, "unloaded", unloaded->unloaded);
  write_names(out, "draining", unloaded->draining);
  out.end_object();
  co_return http::Response::json(200, std::move(body));
}

// With the words of Lemonade, whose clients look for them.
Error pin_error(Error error) {
  const std::string_view words = error.code == json::errc::malformed ? "Invalid JSON body: "
                                 : error.param == "pinned" ? "Parameter 'pinned' is required and must be a boolean: "
                                                           : "";
  error.message.insert(0, words);
  return error;
}

async::Task<http::Response> pin(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kPinFields>());
  if (!peek) co_return dialects::error_response(pin_error(peek.error()));
  auto name = model_name(peek->root());
  if (name.empty()) {
    auto error = protocol::missing_model();
    error.message = "Parameter 'model' or 'model_name' is required: the name of a model, see /v1/models";
    co_return dialects::error_response(error);
  }
  if (const auto known = context.files.models.find_known(name)) name = (*known)->name.value();
  const bool pinned = peek->root().find("pinned").as_bool();
  const auto done = co_await context.core.router.pin(ModelName(name), pinned);
  if (!done) {
    const auto known = co_await find_own_model(context.files, name);
    auto response = dialects::error_response(known ? done.error() : known.error());
    // 400 for a model that isn't loaded, as clients of this endpoint expect.
    if (response.head.status == 404 || known) response.head.status = 400;
    co_return response;
  }
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("model_name", name).field("pinned", pinned).end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> simulate_pressure(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kPressureFields>());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto done = co_await context.core.router.simulate_pressure(peek->root().find("pct").as_number());
  if (!done) co_return dialects::error_response(done.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success");
  write_names(out, "downsized", done->downsized);
  write_names(out, "evicted", done->evicted);
  out.end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_load(std::vector<http::Route>& routes, AdminContext& context) {
  add_core(routes, "POST", "load",
           [&context](http::Request request, http::PathParams) { return load(context, std::move(request)); });
  add_core(routes, "POST", "estimate",
           [&context](http::Request request, http::PathParams) { return estimate(context, std::move(request)); });
  add_core(routes, "POST", "unload",
           [&context](http::Request request, http::PathParams) { return unload(context, std::move(request)); });
  routes.push_back({"POST", "/internal/pin",
                    [&context](http::Request request, http::PathParams) { return pin(context, std::move(request)); }});
  routes.push_back({"POST", "/internal/simulate-vram-pressure", [&context](http::Request request, http::PathParams) {
                      return simulate_pressure(context, std::move(request));
                    }});
}

}  // namespace corral::api
