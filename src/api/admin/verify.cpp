// POST verify: reads the files of a model, or of all models without a name, and reports damaged ones. With "quarantine"
// damaged files are renamed. With "stream" the answer is events: `progress`, then `complete` or `error`. If the client
// disconnects, the verification stops.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/admin/routes.h"
#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/files/file_verifier.h"
#include "api/files/find_model.h"
#include "async/spawned_task.h"
#include "base/secret.h"
#include "dialects/error_filter.h"
#include "http/sse.h"
#include "json/writer.h"
#include "protocol/fields.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr Millis kVerifyInterval{250};

constexpr Field kVerifyFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1},
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
    {.name = "quarantine", .kinds = protocol::kBoolean},
    {.name = "stream", .kinds = protocol::kBoolean},
};

using Verified = Result<std::vector<VerifiedModel>>;
using Verifying = async::SpawnedTask<Verified>;

// Advice for the user.
std::string advice(const models::FileCheck& file, bool from_hub) {
  using models::Verdict;
  switch (file.verdict) {
    case Verdict::damaged:
      if (file.moved_to.empty()) return "rename it (corral verify --quarantine), then restore it from its source";
      return from_hub ? "download the model again from the hub by its name, then remove the damaged file"
                      : "restore it from its source, then remove the damaged file";
    case Verdict::changed:
      return "it was modified since the last verification; its new hash is now the reference";
    case Verdict::unsettled:
      return "it was modified during the verification: verify it again";
    case Verdict::unreadable:
      return "check that the server may read it, and that the disk works";
    default:
      return {};
  }
}

void write_file(json::Writer& out, const models::FileCheck& file, bool from_hub) {
  out.begin_object().field("path", file.path.native()).field("state", name_of(file.verdict));
  out.field("size", file.bytes).key("sha256");
  file.hash ? out.value(to_hex(*file.hash)) : out.null();
  if (file.expected && file.expected != file.hash) out.field("expected_sha256", to_hex(*file.expected));
  if (!file.cause.empty()) out.field("cause", file.cause);
  if (!file.moved_to.empty()) out.field("moved_to", file.moved_to.native());
  if (const auto text = advice(file, from_hub); !text.empty()) out.field("advice", text);
  out.end_object();
}

std::string verified_body(const std::vector<VerifiedModel>& models) {
  std::size_t files = 0, damaged = 0, unreadable = 0;
  std::string body;
  json::Writer out(body);
  out.begin_object().key("models").begin_array();
  for (const auto& model : models) {
    out.begin_object().field("model_name", model.name.value()).key("files").begin_array();
    for (const auto& file : model.files) {
      ++files;
      if (file.verdict == models::Verdict::damaged) ++damaged;
      if (file.verdict == models::Verdict::unreadable) ++unreadable;
      write_file(out, file, model.name.value().find('/') != std::string::npos);
    }
    out.end_array().end_object();
  }
  out.end_array().field("files", files).field("damaged", damaged).field("unreadable", unreadable);
  out.field("status", damaged + unreadable == 0 ? "success" : "damaged").end_object();
  return body;
}

// Scans again, so that renamed files are no longer listed.
async::Task<void> look_again(AdminContext& context, const Verified& verified) {
  const auto moved = [](const models::FileCheck& file) { return !file.moved_to.empty(); };
  const auto has_moved = [&](const VerifiedModel& model) { return std::ranges::any_of(model.files, moved); };
  if (verified && std::ranges::any_of(*verified, has_moved)) co_await context.files.models.rescan();
}

async::Task<Verified> verified_and_seen(AdminContext& context, async::Task<Verified> work) {
  auto verified = co_await std::move(work);
  co_await look_again(context, verified);
  co_return verified;
}

// Destroying them stops the verification.
class VerifyEvents final : public http::BodySource {
 public:
  VerifyEvents(AdminContext& context, std::shared_ptr<VerifyProgress> progress, std::unique_ptr<Verifying> work)
      : context_(context), progress_(std::move(progress)), work_(std::move(work)) {}

  async::Task<Result<std::string_view>> read() override {
    if (!work_) co_return std::string_view();
    const bool done = co_await work_->wait(context_.core.timers, kVerifyInterval);
    if (!done) {
      text_ = progress_event();
      co_return text_;
    }
    const auto verified = work_->take();
    work_.reset();
    text_ = verified ? http::sse_event("complete", verified_body(*verified))
                     : http::sse_event("error", protocol::error_body(verified.error()));
    co_return text_;
  }

 private:
  std::string progress_event() const {
    const auto view = progress_->view();
    std::string payload;
    json::Writer out(payload);
    out.begin_object().field("model", view.model).field("file", view.file);
    out.field("bytes_done", view.done).field("bytes_total", view.total).end_object();
    return http::sse_event("progress", payload);
  }

  AdminContext& context_;
  const std::shared_ptr<VerifyProgress> progress_;
  std::unique_ptr<Verifying> work_;
  std::string text_;
};

async::Task<http::Response> verify(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, verify_fields(), true);
  if (!peek) co_return dialects::error_response(peek.error());
  const auto body = peek->root();
  if (auto fine = check_members(body, verify_fields()); !fine) co_return dialects::error_response(fine.error());
  const auto text = [&](std::string_view name) {
    const auto found = body.find(name);
    return std::string(found.found() && found.is_string() ? found.as_string() : std::string_view());
  };
  const auto flag = [&](std::string_view name) {
    const auto found = body.find(name);
    return found.found() && found.as_bool();
  };
  auto name = text("model_name");
  if (name.empty()) name = text("model");
  std::vector<backends::ModelPtr> models;
  if (name.empty()) {
    const auto catalog = co_await context.files.models.fresh_catalog();
    models.assign(catalog->models().begin(), catalog->models().end());
  } else {
    const auto model = co_await find_own_model(context.files, std::move(name));
    if (!model) co_return dialects::error_response(model.error());
    models.push_back(*model);
  }
  const auto progress = std::make_shared<VerifyProgress>();
  auto work = verified_and_seen(context, context.files.verifier->run(std::move(models), flag("quarantine"), progress));
  if (!flag("stream")) {
    const auto verified = co_await std::move(work);
    if (!verified) co_return dialects::error_response(verified.error());
    co_return http::Response::json(200, verified_body(*verified));
  }
  const auto executor = co_await async::asio::this_coro::executor;
  auto working = std::make_unique<Verifying>(executor, "verification", std::move(work));
  // An early error has its own HTTP status.
  const bool done = co_await working->wait(context.core.timers, kVerifyInterval);
  if (done) {
    const auto verified = working->take();
    if (!verified) co_return dialects::error_response(verified.error());
    auto response = http::Response::event_stream(nullptr);
    response.body = http::Body(http::sse_event("complete", verified_body(*verified)));
    co_return response;
  }
  co_return http::Response::event_stream(std::make_unique<VerifyEvents>(context, progress, std::move(working)));
}

}  // namespace

const protocol::FieldTable& verify_fields() {
  static const protocol::FieldTable table(kVerifyFields);
  return table;
}

void add_verify(std::vector<http::Route>& routes, AdminContext& context) {
  add_core(routes, "POST", "verify",
           [&context](http::Request request, http::PathParams) { return verify(context, std::move(request)); });
}

}  // namespace corral::api
