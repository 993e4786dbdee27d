// POST import: puts a file of this machine into corral's own folder of models, as a hard link or a copy.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "api/supply/removal_plan.h"
#include "api/supply/routes.h"
#include "api/supply/supply.h"
#include "async/run_or_leave.h"
#include "base/text.h"
#include "dialects/error_filter.h"
#include "models/errors.h"
#include "models/import_file.h"
#include "models/text.h"
#include "protocol/errors.h"
#include "protocol/fields.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr Field kImportFields[] = {
    {.name = "path", .kinds = protocol::kString, .required = true, .min_size = 1, .max_bytes = 4096},
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1, .max_bytes = 200},
    {.name = "copy", .kinds = protocol::kBoolean},
};

// Stops a copy when its client disconnects.
class LeftGuard {
 public:
  ~LeftGuard() { *left_ = true; }
  models::ImportProgress progress() const {
    return [left = left_](std::uint64_t, std::uint64_t) { return !*left; };
  }

 private:
  const std::shared_ptr<std::atomic<bool>> left_ = std::make_shared<std::atomic<bool>>(false);
};

// Without a key, all errors about a file are equal, so that they don't reveal which files exist.
Error shown_to(const http::Caller& caller, Error error, const std::string& path) {
  const bool about_file = error.code.category() == models::error_category() &&
                          error.code != models::errc::name_in_use && error.param != "name";
  if (has(caller, kOwner) || !about_file) return error;
  return Error(
      make_error_code(models::errc::file_not_found),
      fmt::format("'{}' is not a complete model file: give a GGUF file of this machine, with all parts of its set",
                  models::printable(path, 4096)),
      "path");
}

// The name must not find another model.
Result<> check_free(SupplyContext& context, const models::ImportRequest& wanted) {
  const auto known =
      wanted.name.empty() ? Result<models::Catalog::Model>(nullptr) : context.files.models.find_known(wanted.name);
  if (!known || *known == nullptr || !equal_ignoring_case((*known)->name.value(), wanted.name)) return {};
  const auto& files = (*known)->paths;
  // the import checks whether it is the same file
  if (!files.empty() && is_within(files.front(), wanted.folder)) return {};
  return fail(errc::name_taken, fmt::format("a model named '{}' already exists: choose another name", wanted.name),
              "model_name");
}

async::Task<http::Response> import_model(SupplyContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, import_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto body = peek->root();
  if (auto fine = check_members(body, import_fields()); !fine) co_return dialects::error_response(fine.error());
  const std::string path(body.find("path").as_string());
  models::ImportRequest wanted{.file = path, .folder = context.supply->places().own};
  if (body.find("model_name").is_string()) wanted.name = body.find("model_name").as_string();
  wanted.copy = body.find("copy").found() && body.find("copy").as_bool();
  if (!wanted.file.is_absolute()) {
    const Error error(make_error_code(protocol::errc::unsupported_value),
                      fmt::format("'path' must be an absolute path: '{}' is relative to the server's folder",
                                  models::printable(path, 256)),
                      "path");
    co_return dialects::error_response(error);
  }
  if (const auto taken = check_free(context, wanted); !taken) co_return dialects::error_response(taken.error());
  const LeftGuard guard;
  auto work = [wanted, progress = guard.progress()] { return models::import_file(wanted, progress); };
  auto importing = async::run_or_leave(context.supply->imports, context.core.timers, std::move(work));
  const auto imported = co_await std::move(importing);
  if (!imported) co_return dialects::error_response(shown_to(request.caller, imported.error(), path));
  co_await context.files.models.rescan();
  const auto catalog = co_await context.files.models.catalog();
  const auto is_it = [&](const models::Catalog::Model& model) {
    return std::ranges::find(model->paths, imported->files.front()) != model->paths.end();
  };
  const auto model = std::ranges::find_if(catalog->models(), is_it);
  std::string text;
  json::Writer out(text);
  out.begin_object().field("status", "success");
  out.field("model_name", model == catalog->models().end() ? imported->name : (*model)->name.value());
  out.field("path", imported->files.front().native()).field("how", imported->linked ? "link" : "copy");
  out.field("bytes", imported->bytes).end_object();
  co_return http::Response::json(200, std::move(text));
}

}  // namespace

const protocol::FieldTable& import_fields() {
  static const protocol::FieldTable table(kImportFields);
  return table;
}

void add_import(std::vector<http::Route>& routes, SupplyContext& context) {
  add_core(routes, "POST", "import",
           [&context](http::Request request, http::PathParams) { return import_model(context, std::move(request)); });
}

}  // namespace corral::api
