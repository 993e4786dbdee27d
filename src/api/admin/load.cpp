// Loading and unloading by hand: POST load (with progress, if wanted), POST estimate, POST unload,
// POST /internal/pin.
#include <fmt/format.h>

#include "api/routes.h"
#include "async/beside.h"
#include "backends/engine_protocol.h"
#include "http/sse.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/fields.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr Millis kProgressInterval{100};

constexpr Field kLoadFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .required = true, .min_size = 1},
    {.name = "ctx_size", .kinds = protocol::kInteger, .min = -1, .max = 1 << 26},
    {.name = "parallel", .kinds = protocol::kInteger, .min = 1, .max = 256},
    {.name = "threads", .kinds = protocol::kInteger, .min = 0, .max = 1024},
    {.name = "gpu_layers", .kinds = protocol::kInteger, .min = -1, .max = 100'000},
    {.name = "llamacpp_backend", .kinds = protocol::kString},
    {.name = "lora", .kinds = protocol::kArray, .elements = protocol::kString},
    {.name = "speculative", .kinds = protocol::kInteger, .min = 0, .max = 64},
    {.name = "draft_model", .kinds = protocol::kString},
    {.name = "park_bytes", .kinds = protocol::kInteger, .min = 0},
    {.name = "pinned", .kinds = protocol::kBoolean},
    {.name = "stream", .kinds = protocol::kBoolean},
};
constexpr Field kUnloadFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1},
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
};
constexpr Field kPinFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1},
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
    {.name = "pinned", .kinds = protocol::kBoolean, .required = true},
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

std::optional<std::int64_t> integer(json::View body, std::string_view name) {
  const auto found = body.find(name);
  return found.found() && !found.is_null() ? std::optional(found.as_integer()) : std::nullopt;
}

backends::LoadOptions load_options(json::View body) {
  backends::LoadOptions options{
      integer(body, "ctx_size"), integer(body, "parallel"), integer(body, "threads"), integer(body, "gpu_layers"), {}};
  if (const auto backend = body.find("llamacpp_backend"); backend.found() && backend.is_string())
    options.llamacpp_backend = backend.as_string();
  options.speculative = integer(body, "speculative");
  options.park_bytes = integer(body, "park_bytes");
  if (const auto draft = body.find("draft_model"); draft.found() && draft.is_string())
    options.draft_model = draft.as_string();
  if (const auto lora = body.find("lora"); lora.found() && lora.is_array()) {
    auto& adapters = options.lora.emplace();
    lora.each_element([&](json::View adapter) { adapters.emplace_back(adapter.as_string()); });
  }
  return options;
}

std::string loaded_body(const models::ModelInfo& model) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("model_name", model.name.value());
  out.field("checkpoint", model.checkpoint).field("recipe", model.recipe).end_object();
  return body;
}

using Loading = async::Beside<Result<bool>>;

// The load as events: progress until it ends, then complete or error. Dropping them gives the load up.
class LoadEvents final : public http::BodySource {
 public:
  LoadEvents(Context& context, backends::ModelPtr model, std::unique_ptr<Loading> loading)
      : context_(context), model_(std::move(model)), loading_(std::move(loading)) {}

  async::Task<Result<std::string_view>> read() override {
    if (!loading_) co_return std::string_view();
    const bool done = co_await loading_->wait(context_.timers, waited_ ? kProgressInterval : Millis(0));
    waited_ = true;
    if (!done) {
      const auto progress = co_await context_.router.progress(model_->name);
      text_ = progress_event(progress);
      co_return text_;
    }
    const auto result = loading_->take();
    loading_.reset();
    text_ = result ? http::sse_event("complete", loaded_body(*model_))
                   : http::sse_event("error", protocol::error_body(result.error()));
    co_return text_;
  }

 private:
  std::string progress_event(std::optional<double> progress) const {
    std::string payload;
    json::Writer out(payload);
    out.begin_object().field("model", model_->name.value()).field("stage", progress ? "loading" : "queued");
    out.field("progress", progress.value_or(0)).end_object();
    return http::sse_event("progress", payload);
  }

  Context& context_;
  const backends::ModelPtr model_;
  std::unique_ptr<Loading> loading_;
  std::string text_;
  bool waited_ = false;
};

// A load that is refused at once has a status; one that takes its time is told as it goes.
async::Task<http::Response> load_streamed(Context& context, backends::ModelPtr model, backends::LoadOptions options,
                                          std::optional<bool> pin) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto task = context.router.load(model, std::move(options), pin);
  auto loading = std::make_unique<Loading>(executor, "load", std::move(task));
  const bool done = co_await loading->wait(context.timers, kProgressInterval);
  if (done) {
    const auto result = loading->take();
    if (!result) co_return protocol::error_response(result.error());
    auto response = http::Response::event_stream(nullptr);
    response.body = http::Body(http::sse_event("complete", loaded_body(*model)));
    co_return response;
  }
  co_return http::Response::event_stream(std::make_unique<LoadEvents>(context, std::move(model), std::move(loading)));
}

// The checked body of a request, or the answer that refuses it.
async::Task<Result<json::Peek>> checked(Context& context, http::Request& request, const protocol::FieldTable& fields,
                                        bool may_be_empty) {
  auto body = co_await request.body.read_all(context.max_body_bytes);
  if (!body) co_return std::unexpected(body.error());
  if (may_be_empty && body->empty()) *body = "{}";
  auto peek = json::Peek::open(*body);
  if (!peek) co_return std::unexpected(peek.error());
  const auto fine = protocol::check(peek->root(), fields);
  if (!fine) co_return std::unexpected(fine.error());
  co_return std::move(*peek);
}

async::Task<http::Response> load(Context& context, http::Request request) {
  const auto peek = co_await checked(context, request, table<kLoadFields>(), false);
  if (!peek) co_return protocol::error_response(peek.error());
  const auto body = peek->root();
  const auto model = co_await context.models.find(model_name(body));
  if (!model) co_return protocol::error_response(model.error());
  auto options = load_options(body);
  std::optional<bool> pin;
  if (const auto pinned = body.find("pinned"); pinned.found() && !pinned.is_null()) pin = pinned.as_bool();
  if (body.find("stream").found() && body.find("stream").as_bool()) {
    co_return co_await load_streamed(context, *model, std::move(options), pin);
  }
  const auto loaded = co_await context.router.load(*model, std::move(options), pin);
  if (!loaded) co_return protocol::error_response(loaded.error());
  co_return http::Response::json(200, loaded_body(**model));
}

// What load with this body would take; nothing is loaded.
async::Task<http::Response> estimate(Context& context, http::Request request) {
  const auto peek = co_await checked(context, request, table<kLoadFields>(), false);
  if (!peek) co_return protocol::error_response(peek.error());
  const auto model = co_await context.models.find(model_name(peek->root()));
  if (!model) co_return protocol::error_response(model.error());
  const auto estimated = co_await context.router.estimate(*model, load_options(peek->root()));
  if (!estimated) co_return protocol::error_response(estimated.error());
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

async::Task<http::Response> unload(Context& context, http::Request request) {
  const auto peek = co_await checked(context, request, table<kUnloadFields>(), true);
  if (!peek) co_return protocol::error_response(peek.error());
  auto name = model_name(peek->root());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success");
  if (!name.empty()) {
    // A client may use any of a model's names; one that is on no disk any more is still known by the name it was loaded
    // as.
    if (const auto known = context.models.find_known(name)) name = (*known)->name.value();
    const auto unloaded = co_await context.router.unload(ModelName(name));
    if (!unloaded) co_return protocol::error_response(unloaded.error());
    out.field("message", "Model unloaded successfully").field("model_name", name).end_object();
    co_return http::Response::json(200, std::move(body));
  }
  const auto unloaded = co_await context.router.unload_all();
  if (!unloaded) co_return protocol::error_response(unloaded.error());
  out.field("message", unloaded->draining.empty() ? "All models unloaded successfully"
                                                  : "Models that still answer requests unload when they are done");
  write_names(out, "unloaded", unloaded->unloaded);
  write_names(out, "draining", unloaded->draining);
  out.end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> pin(Context& context, http::Request request) {
  const auto peek = co_await checked(context, request, table<kPinFields>(), false);
  if (!peek) co_return protocol::error_response(peek.error());
  auto name = model_name(peek->root());
  if (name.empty()) co_return protocol::error_response(protocol::missing_model());
  if (const auto known = context.models.find_known(name)) name = (*known)->name.value();
  const bool pinned = peek->root().find("pinned").as_bool();
  const auto done = co_await context.router.pin(ModelName(name), pinned);
  if (!done) {
    auto response = protocol::error_response(done.error());
    response.head.status = 400;  // not loaded is a bad request here, as clients of this endpoint expect
    co_return response;
  }
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("model_name", name).field("pinned", pinned).end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_load(std::vector<http::Route>& routes, Context& context) {
  add_core(routes, "POST", "load",
           [&context](http::Request request, http::PathParams) { return load(context, std::move(request)); });
  add_core(routes, "POST", "estimate",
           [&context](http::Request request, http::PathParams) { return estimate(context, std::move(request)); });
  add_core(routes, "POST", "unload",
           [&context](http::Request request, http::PathParams) { return unload(context, std::move(request)); });
  routes.push_back({"POST", "/internal/pin",
                    [&context](http::Request request, http::PathParams) { return pin(context, std::move(request)); }});
}

}  // namespace corral::api
