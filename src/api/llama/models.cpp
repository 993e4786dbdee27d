// llama-server's routes for a server of several models: POST /models/load and /models/unload, GET /models/sse. The list
// is in openai/models.cpp; admin/load.cpp takes further options of a load.
#include "api/admin/unload.h"
#include "api/base/command_body.h"
#include "api/base/model_status.h"
#include "api/base/reader_places.h"
#include "api/files/find_model.h"
#include "api/llama/routes.h"
#include "dialects/error_filter.h"
#include "http/sse.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr Millis kFeedSilence{15'000};

http::Response success() { return http::Response::json(200, R"({"success":true})"); }

async::Task<Result<std::string>> asked_name(LlamaContext& context, http::Request& request) {
  const auto peek = co_await checked_body(context.admin.bodies, request, named_model_fields());
  if (!peek) co_return std::unexpected(peek.error());
  co_return std::string(peek->root().find("model").as_string());
}

// Answers when the model is loaded or the load has failed.
async::Task<http::Response> load_by_name(LlamaContext& context, http::Request request) {
  auto name = co_await asked_name(context, request);
  if (!name) co_return dialects::error_response(name.error());
  const auto model = co_await find_model(context.admin.files, std::move(*name));
  if (!model) co_return dialects::error_response(model.error());
  if (fleet::is_remote(**model)) co_return success();  // the first request loads it there
  const auto loaded = co_await context.core.router.load(*model, {}, std::nullopt, false);
  if (!loaded) co_return dialects::error_response(loaded.error());
  co_return success();
}

async::Task<http::Response> unload_by_name(LlamaContext& context, http::Request request) {
  auto name = co_await asked_name(context, request);
  if (!name) co_return dialects::error_response(name.error());
  auto unloading = unload_named(context.admin, std::move(*name));
  const auto unloaded = co_await std::move(unloading);
  if (!unloaded) co_return dialects::error_response(unloaded.error());
  co_return success();
}

// {"model","event","data"} for each change of a model's status.
class StatusFeed final : public http::BodySource {
 public:
  StatusFeed(LlamaContext& context, std::shared_ptr<void> place)
      : place_(std::move(place)), reader_(context.core.router) {}

  async::Task<Result<std::string_view>> read() override {
    text_.clear();
    if (ended_) co_return text_;
    const auto update = co_await reader_.next(kFeedSilence);
    ended_ = update.ended;
    // Missed changes can be read from the list.
    if (update.whole && !std::exchange(begun_, true)) {
      co_return http::kSsePing;
    }
    if (update.whole) send("*", "models_reload", {});
    for (const auto& event : update.events) {
      if (const auto* moved = std::get_if<router::InstanceChanged>(&event->change)) send(*moved);
      if (const auto* moved = std::get_if<router::LoadChanged>(&event->change)) send(*moved);
    }
    if (text_.empty() && !ended_) co_return http::kSsePing;
    co_return text_;
  }

 private:
  void send(const router::InstanceChanged& moved) {
    const auto before = status_value(moved.from), now = status_value(moved.to);
    if (before != now) status(moved.spec->name, now, std::nullopt);
  }
  void send(const router::LoadChanged& moved) {
    using enum router::LoadStage;
    if (moved.stage == started) status(moved.spec->name, "loading", 0);
    if (moved.stage == progress) status(moved.spec->name, "loading", moved.progress);
    if (moved.stage == failed) status(moved.spec->name, "failed", std::nullopt);
  }
  void status(const ModelName& model, std::string_view value, std::optional<double> progress) {
    std::string data;
    json::Writer out(data);
    out.begin_object().field("status", value);
    if (progress) {
      out.key("progress").begin_object().key("stages").begin_array().value("text_model").end_array();
      out.field("current", "text_model").field("value", *progress).end_object();
    }
    out.end_object();
    send(model.value(), "model_status", data);
  }
  void send(std::string_view model, std::string_view event, std::string_view data) {
    std::string payload;
    json::Writer out(payload);
    out.begin_object().field("model", model).field("event", event);
    if (!data.empty()) out.key("data").raw(data);
    out.end_object();
    text_ += http::sse_data(payload);
  }

  const std::shared_ptr<void> place_;
  router::EventReader reader_;
  std::string text_;
  bool begun_ = false, ended_ = false;
};

async::Task<http::Response> status_feed(LlamaContext& context, std::shared_ptr<ReaderPlaces> places) {
  auto place = ReaderPlaces::take(places);
  if (!place) co_return dialects::error_response(place.error());
  co_return http::Response::event_stream(std::make_unique<StatusFeed>(context, std::move(*place)));
}

}  // namespace

const protocol::FieldTable& named_model_fields() {
  static constexpr protocol::Field kFields[] = {
      {.name = "model", .kinds = protocol::kString, .required = true, .min_size = 1, .about = "the name of a model"}};
  static const protocol::FieldTable table(kFields);
  return table;
}

void add_llama_models(std::vector<http::Route>& routes, LlamaContext& context) {
  routes.push_back({"POST", "/models/load", [&context](http::Request request, http::PathParams) {
                      return load_by_name(context, std::move(request));
                    }});
  routes.push_back({"POST", "/models/unload", [&context](http::Request request, http::PathParams) {
                      return unload_by_name(context, std::move(request));
                    }});
  const auto places = std::make_shared<ReaderPlaces>(context.admin.max_event_readers);
  routes.push_back({"GET", "/models/sse",
                    [&context, places](http::Request, http::PathParams) { return status_feed(context, places); }});
}

}  // namespace corral::api
