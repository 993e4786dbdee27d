// POST pull: downloads a model. With "stream" the answer is events (`plan`, `progress`, then `complete` or `error`),
// else one document at the end, or at once with "subscribe": false. If the client disconnects, the download pauses,
// unless another client waits for it.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/supply/download_json.h"
#include "api/supply/known_names.h"
#include "api/supply/pulling.h"
#include "api/supply/routes.h"
#include "dialects/error_filter.h"
#include "downloads/errors.h"
#include "http/sse.h"
#include "models/names/model_names.h"
#include "models/text.h"
#include "protocol/errors.h"
#include "protocol/fields.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr Millis kPullInterval{1'000};
constexpr std::size_t kMaxLabels = 32;

// Fields without effect here are sent by clients of other servers: the file itself has these facts.
constexpr Field kModelPullFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1, .max_bytes = downloads::kMaxNameBytes},
    {.name = "model", .kinds = protocol::kString, .min_size = 1, .max_bytes = downloads::kMaxNameBytes},
    {.name = "checkpoint", .kinds = protocol::kString, .min_size = 1, .max_bytes = downloads::kMaxNameBytes},
    {.name = "checkpoints", .kinds = protocol::kObject},
    {.name = "recipe", .kinds = protocol::kString, .choices = "llamacpp"},
    {.name = "source", .kinds = protocol::kString, .choices = "huggingface"},
    {.name = "labels",
     .kinds = protocol::kArray,
     .max_size = kMaxLabels,
     .max_bytes = 64,
     .elements = protocol::kString},
    {.name = "stream", .kinds = protocol::kBoolean},
    {.name = "subscribe", .kinds = protocol::kBoolean},
    {.name = "dry_run", .kinds = protocol::kBoolean},
    {.name = "do_not_upgrade", .kinds = protocol::kBoolean},
    {.name = "mmproj", .kinds = protocol::kString},
    {.name = "no_mmproj", .kinds = protocol::kBoolean},
    {.name = "reasoning", .kinds = protocol::kBoolean},
    {.name = "vision", .kinds = protocol::kBoolean},
    {.name = "embedding", .kinds = protocol::kBoolean},
    {.name = "reranking", .kinds = protocol::kBoolean},
};

struct FlagLabel {
  std::string_view field, label;
};
constexpr auto kFlagLabels = std::to_array<FlagLabel>({
    {"reasoning", "reasoning"},
    {"vision", "vision"},
    {"embedding", "embeddings"},
    {"reranking", "reranking"},
});

bool flag_member(json::View body, std::string_view name, bool otherwise = false) {
  const auto found = body.find(name);
  return found.found() && !found.is_null() ? found.as_bool() : otherwise;
}
std::string text_member(json::View body, std::string_view name) {
  const auto found = body.find(name);
  return std::string(found.found() && found.is_string() ? found.as_string() : std::string_view());
}

// "mmproj", or its member of "checkpoints": a file, maybe after "org/repo:". Empty: absent.
std::string projector_member(json::View body) {
  auto name = text_member(body, "mmproj");
  if (name.empty()) name = text_member(body.find("checkpoints"), "mmproj");
  return name.substr(name.rfind(':') + 1);
}

// The projector is chosen with the model, so another one is an error.
Result<> check_projector(const std::string& projector, const downloads::Plan& plan) {
  const auto is_it = [&](const auto& file) { return file.path == projector; };
  if (projector.empty() || std::ranges::any_of(plan.files, is_it)) return {};
  std::vector<std::string> files;
  for (const auto& file : plan.files) files.push_back(fmt::format("'{}'", models::printable(file.path, 256)));
  return fail(protocol::errc::unsupported_value,
              fmt::format("'mmproj' cannot be '{}': this pull downloads {}. Omit 'mmproj'",
                          models::printable(projector, 256), fmt::join(files, ", ")),
              "mmproj");
}

Result<> check_checkpoints(json::View body) {
  Result<> fine;
  body.find("checkpoints").each_member([&](std::string_view name, json::View value) {
    if ((name == "main" || name == "mmproj") && (value.is_string() || value.is_null())) return true;
    fine =
        fail(protocol::errc::unsupported_value,
             fmt::format("'checkpoints' has 'main' and 'mmproj', each a string, not '{}'", models::printable(name, 64)),
             "checkpoints");
    return false;
  });
  return fine;
}

Result<PullRequest> pull_request_of(const SupplyContext& context, json::View body) {
  auto name = text_member(body, "model_name");
  if (name.empty()) name = text_member(body, "model");
  if (name.empty())
    return fail(protocol::errc::missing_field,
                "'model_name' is required: the model to download, such as org/repo:Q4_K_M or a URL", "model_name");
  PullRequest wanted{.detached = !flag_member(body, "subscribe", true), .projector = !flag_member(body, "no_mmproj")};
  if (!wanted.projector && !projector_member(body).empty())
    return fail(protocol::errc::bad_value, "'no_mmproj' cannot be combined with 'mmproj': omit one of them",
                "no_mmproj");
  auto checkpoint = text_member(body, "checkpoint");
  if (checkpoint.empty()) checkpoint = text_member(body.find("checkpoints"), "main");
  if (checkpoint.empty()) {
    wanted.source = source_of(context, std::move(name));
    return wanted;
  }
  wanted.source = std::move(checkpoint);
  if (name != wanted.source) wanted.called = models::without_prefix(name);
  wanted.source = source_of(context, std::move(wanted.source));
  body.find("labels").each_element([&](json::View label) { wanted.labels.emplace_back(label.as_string()); });
  for (const auto& flag : kFlagLabels)
    if (flag_member(body, flag.field)) wanted.labels.emplace_back(flag.label);
  return wanted;
}

// The last event of a stream.
async::Task<std::string> last_event(Pull& pull) {
  const auto name = co_await pull.result();
  if (name) co_return http::sse_event("complete", download_body(pull.row(), *name));
  std::string payload;
  json::Writer out(payload);
  out.begin_object().field("error", name.error().message).field("code", name.error().code.message()).end_object();
  co_return http::sse_event("error", payload);
}

class PullEvents final : public http::BodySource {
 public:
  // `plan`: the first event.
  PullEvents(std::unique_ptr<Pull> pull, std::string plan) : pull_(std::move(pull)), text_(std::move(plan)) {}

  async::Task<Result<std::string_view>> read() override {
    if (!begun_) {
      begun_ = true;
      co_return text_;
    }
    if (!pull_) co_return std::string_view();
    if (begun_ && sent_) co_await pull_->next(kPullInterval);
    sent_ = true;
    if (!pull_->ended()) {
      text_ = http::sse_event("progress", download_body(pull_->row()));
      co_return text_;
    }
    text_ = co_await last_event(*pull_);
    pull_.reset();
    co_return text_;
  }

 private:
  std::unique_ptr<Pull> pull_;
  std::string text_;
  bool begun_ = false, sent_ = false;
};

http::Response at_its_end(const Pull& pull, const std::string& name) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("model_name", name).key("download");
  out.raw(download_body(pull.row(), name)).end_object();
  return http::Response::json(200, std::move(body));
}

// For a local model that can't be newer: without network access, or because the name is none of the hub.
http::Response nothing_to_do(const std::string& name, bool streams) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", streams ? "ok" : "success").field("model_name", name).end_object();
  if (!streams) return http::Response::json(200, std::move(body));
  auto response = http::Response::event_stream(nullptr);
  response.body = http::Body(http::sse_event("complete", body));
  return response;
}

async::Task<http::Response> pull_model(SupplyContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, pull_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto body = peek->root();
  if (auto fine = check_members(body, pull_fields()); !fine) co_return dialects::error_response(fine.error());
  if (auto fine = check_checkpoints(body); !fine) co_return dialects::error_response(fine.error());
  auto wanted = pull_request_of(context, body);
  if (!wanted) co_return dialects::error_response(wanted.error());
  const bool streams = flag_member(body, "stream"), dry = flag_member(body, "dry_run");
  if (context.supply->download_manager.offline() && !dry) {
    const auto known = context.files.models.find_known(wanted->source);
    if (known) co_return nothing_to_do((*known)->name.value(), streams);
  }
  auto plan = co_await Pull::plan(context, wanted->download());
  if (!plan && plan.error().code == downloads::errc::bad_name && wanted->called.empty() && !dry) {
    const auto known = context.files.models.find_known(wanted->source);
    if (known) co_return nothing_to_do((*known)->name.value(), streams);
  }
  if (!plan) co_return dialects::error_response(plan.error());
  if (auto fine = check_projector(projector_member(body), *plan); !fine)
    co_return dialects::error_response(fine.error());
  const auto memory = co_await context.supply->memory();
  auto planned = plan_body(*plan, memory, called(*wanted, *plan));
  if (dry) co_return http::Response::json(200, std::move(planned));
  const bool detached = wanted->detached;
  auto begun = co_await Pull::begin(context, std::move(*wanted), std::move(*plan));
  if (!begun) co_return dialects::error_response(begun.error());
  auto& pulling = **begun;
  if (detached) co_return http::Response::json(200, download_body(pulling.row()));
  if (streams) {
    co_await pulling.first();
    if (pulling.row().view.state == downloads::DownloadState::failed && pulling.row().view.error)
      co_return dialects::error_response(*pulling.row().view.error);
    co_return http::Response::event_stream(
        std::make_unique<PullEvents>(std::move(*begun), http::sse_event("plan", planned)));
  }
  while (!pulling.ended()) co_await pulling.next(kPullInterval);
  const auto name = co_await pulling.result();
  if (!name) co_return dialects::error_response(name.error());
  co_return at_its_end(pulling, *name);
}

}  // namespace

const protocol::FieldTable& pull_fields() {
  static const protocol::FieldTable table(kModelPullFields);
  return table;
}

void add_pull(std::vector<http::Route>& routes, SupplyContext& context) {
  add_core(routes, "POST", "pull",
           [&context](http::Request request, http::PathParams) { return pull_model(context, std::move(request)); });
}

}  // namespace corral::api
