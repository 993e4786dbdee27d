// POST delete, and llama-server's DELETE /models.
#include "api/supply/removal.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "api/supply/routes.h"
#include "dialects/error_filter.h"
#include "downloads/cache_layout.h"
#include "models/errors.h"
#include "models/names/model_names.h"
#include "protocol/errors.h"
#include "protocol/fields.h"
#include "residency/errors.h"

namespace corral::api {
namespace {

namespace fs = std::filesystem;
using protocol::Field;

constexpr Field kRemovalFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1},
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
    {.name = "dry_run", .kinds = protocol::kBoolean},
    {.name = "models_dir", .kinds = protocol::kBoolean},
};

// Disk space that removing this name frees; blocking.
std::uint64_t bytes_of(const fs::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return 0;
  return fs::is_symlink(file) || status.st_nlink == 1 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Blocking.
downloads::Removed would_remove(const RemovalPlan& plan, const std::vector<fs::path>& files) {
  downloads::Removed removed;
  for (const auto& file : files) {
    if (std::ranges::find(plan.kept, file, &KeptFile::path) != plan.kept.end()) continue;
    removed.freed += bytes_of(file);
    removed.files.push_back(file);
  }
  return removed;
}

// Blocking.
Result<downloads::Removed> unlink_all(const std::vector<fs::path>& files) {
  downloads::Removed removed;
  for (const auto& file : files) {
    const auto bytes = bytes_of(file);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
      return std::unexpected(downloads::disk_error(errno, "removing", file));
    removed.freed += bytes;
    removed.files.push_back(file);
  }
  return removed;
}

void add_to(downloads::Removed& all, downloads::Removed some) {
  all.freed += some.freed;
  std::ranges::move(some.files, std::back_inserter(all.files));
}

// A name of user_models.json without its model has only the name to remove.
async::Task<Result<backends::ModelPtr>> find_for_removal(SupplyContext& context, std::string name) {
  auto model = co_await context.files.models.find(name);
  if (model) co_return model;
  const auto user = context.supply->names.user_models(context.files.models.recipes());
  const auto plain = models::without_prefix(name);
  const auto entry = std::ranges::find(user.models, plain, &models::UserModel::name);
  if (entry != user.models.end()) {
    auto info = std::make_shared<models::ModelInfo>();
    info->name = ModelName(entry->name);
    co_return info;
  }
  co_return fail(errc::unknown_model, model.error().message, "model_name");
}

Result<> may_go(const router::Report& report, const ModelName& model) {
  const auto busy = [&](std::string_view why) {
    return fail(errc::model_busy,
                fmt::format("'{}' {}: delete it afterwards, or cancel that first", model.value(), why), "model_name");
  };
  for (const auto& instance : report.instances)
    if (instance.view.spec->name == model && instance.view.leases > 0) return busy("has running requests");
  if (report.snapshot.loading && report.snapshot.loading->spec->name == model) return busy("is being loaded");
  for (const auto& queued : report.snapshot.queue)
    if (queued.model == model) return busy("waits to be loaded");
  return {};
}

// Succeeds if the model is out of memory now.
async::Task<Result<>> unload_first(SupplyContext& context, ModelName model) {
  const auto report = co_await context.core.router.report();
  if (auto may = may_go(report, model); !may) co_return may;
  const auto is_it = [&](const router::InstanceReport& instance) { return instance.view.spec->name == model; };
  if (std::ranges::none_of(report.instances, is_it)) co_return Result<>();
  auto unloaded = co_await context.core.router.unload(model);
  // It may have been unloaded meanwhile.
  if (!unloaded && kind_of(unloaded.error().code) != ErrorKind::not_found) co_return unloaded;
  co_return Result<>();
}

async::Task<Result<downloads::Removed>> carry_out(SupplyContext& context, const RemovalPlan& plan) {
  auto& download_manager = context.supply->download_manager;
  downloads::Removed all;
  for (const auto& [repo, paths] : plan.from_hub) {
    const auto weights = plan.weights.find(repo);
    auto removing = download_manager.remove(
        repo, paths, weights == plan.weights.end() ? std::vector<std::string>() : weights->second);
    auto removed = co_await std::move(removing);
    if (!removed) co_return std::unexpected(std::move(removed.error()));
    add_to(all, std::move(*removed));
  }
  auto work = [files = plan.others] { return unlink_all(files); };
  auto removed = co_await download_manager.disk().run(std::move(work));
  if (!removed) co_return std::unexpected(std::move(removed.error()));
  add_to(all, std::move(*removed));
  co_return all;
}

std::string message_of(const Removal& removal, bool dry) {
  const double mb = static_cast<double>(removal.freed) / 1e6;
  if (!removal.name_of.empty())
    return fmt::format("'{0}' is a name of '{1}': only the name {2}, and '{1}' stays", removal.model.value(),
                       removal.name_of, dry ? "would go" : "is gone");
  if (dry) return fmt::format("Deleting '{}' would free {:.1f} MB", removal.model.value(), mb);
  if (removal.files.empty()) return fmt::format("the name '{}' is removed", removal.model.value());
  return fmt::format("'{}' is deleted, {:.1f} MB are free", removal.model.value(), mb);
}

std::string removal_body(const Removal& removal, bool dry) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", dry ? "dry_run" : "success").field("message", message_of(removal, dry));
  out.field("model_name", removal.model.value());
  if (!removal.name_of.empty()) out.field("name_of", removal.name_of);
  out.field("freed_bytes", removal.freed).key("files").begin_array();
  for (const auto& file : removal.files) out.value(file.native());
  out.end_array().key("kept").begin_array();
  for (const auto& file : removal.kept) {
    out.begin_object().field("path", file.path.native()).key("needed_by").begin_array();
    for (const auto& name : file.needed_by) out.value(name.value());
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return body;
}

async::Task<http::Response> delete_model(SupplyContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, removal_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto body = peek->root();
  if (auto fine = check_members(body, removal_fields()); !fine) co_return dialects::error_response(fine.error());
  const auto text = [&](std::string_view name) {
    const auto found = body.find(name);
    return std::string(found.found() && found.is_string() ? found.as_string() : std::string_view());
  };
  RemovalRequest wanted{.name = text("model_name"),
                        .models_dir = body.find("models_dir").found() && body.find("models_dir").as_bool(),
                        .dry_run = body.find("dry_run").found() && body.find("dry_run").as_bool()};
  if (wanted.name.empty()) wanted.name = text("model");
  if (wanted.name.empty()) {
    const Error error(make_error_code(protocol::errc::missing_field),
                      "'model_name' is required: the name of a model, see /v1/models", "model_name");
    co_return dialects::error_response(error);
  }
  const bool dry = wanted.dry_run;
  const auto removal = co_await remove_model(context, std::move(wanted));
  if (!removal) co_return dialects::error_response(removal.error());
  co_return http::Response::json(200, removal_body(*removal, dry));
}

// llama-server's: ?model=NAME.
async::Task<http::Response> delete_by_query(SupplyContext& context, http::Request request) {
  auto name = http::query_value(request.head.query(), "model").value_or("");
  if (name.empty()) {
    const Error error(make_error_code(protocol::errc::missing_field),
                      "'model' is required: DELETE /models?model=NAME, see /v1/models", "model");
    co_return dialects::error_response(error);
  }
  RemovalRequest wanted{.name = std::move(name)};
  const auto removal = co_await remove_model(context, std::move(wanted));
  if (!removal) co_return dialects::error_response(removal.error());
  co_return http::Response::json(200, R"({"success":true})");
}

}  // namespace

async::Task<Result<Removal>> remove_model(SupplyContext& context, RemovalRequest wanted) {
  const auto aliases = context.supply->names.aliases();
  // An alias in another spelling is an alias, too: never the name of its model's files.
  const auto known = co_await context.files.models.catalog();
  if (const auto* const alias = known->find_alias(wanted.name)) wanted.name = alias->name.value();
  if (const auto alias = aliases.find(wanted.name); alias != aliases.end()) {
    Removal removal{.model = ModelName(wanted.name), .name_of = alias->second.target};
    if (wanted.dry_run) co_return removal;
    if (auto gone = context.supply->names.remove_alias(wanted.name); !gone)
      co_return std::unexpected(std::move(gone.error()));
    co_await context.files.models.rescan();
    co_return removal;
  }
  const auto model = co_await find_for_removal(context, wanted.name);
  if (!model) co_return std::unexpected(model.error());
  const models::ModelInfo& info = **model;
  if (info.installed) {
    co_return fail(errc::file_not_ours,
                   fmt::format("'{}' cannot be deleted: it is listed because its program is installed; to hide it, set "
                               "espeak_model to false",
                               info.name.value()),
                   "model_name");
  }
  const auto user = context.supply->names.user_models(context.files.models.recipes());
  const auto entry = std::ranges::find(user.models, info.name.value(), &models::UserModel::name);
  const bool named = entry != user.models.end();
  const auto by = !named ? NamedBy::files : entry->fetched ? NamedBy::pull : NamedBy::client;
  const auto catalog = co_await context.files.models.catalog();
  auto plan = plan_removal(*catalog, info, context.supply->places(), by, wanted.models_dir);
  if (!plan) co_return std::unexpected(std::move(plan.error()));
  if (plan->empty() && !named) {
    const auto& needed = plan->kept.empty() ? std::vector<ModelName>() : plan->kept.front().needed_by;
    std::vector<std::string_view> names;
    for (const auto& name : needed) names.push_back(name.value());
    co_return fail(errc::file_not_ours,
                   fmt::format("'{}' cannot be deleted: it shares its files with {}; delete that model",
                               info.name.value(), fmt::join(names, ", ")),
                   "model_name");
  }
  Removal removal{.model = info.name, .kept = plan->kept};
  if (by == NamedBy::client && plan->empty() && !plan->kept.empty()) removal.name_of = entry->checkpoint;
  downloads::Removed removed;
  if (wanted.dry_run) {
    std::vector<fs::path> files = info.paths;
    if (!info.mmproj.empty()) files.push_back(info.mmproj);
    auto look = [plan = *plan, files = std::move(files)] { return would_remove(plan, files); };
    removed = co_await context.supply->download_manager.disk().run(std::move(look));
  } else {
    const auto out = co_await unload_first(context, info.name);
    if (!out) co_return std::unexpected(out.error());
    auto done = co_await carry_out(context, *plan);
    if (!done) co_return std::unexpected(std::move(done.error()));
    removed = std::move(*done);
    if (named) {
      if (auto gone = context.supply->names.remove(info.name.value()); !gone)
        co_return std::unexpected(std::move(gone.error()));
    }
    co_await context.files.models.rescan();
  }
  removal.freed = removed.freed;
  removal.files = std::move(removed.files);
  co_return removal;
}

const protocol::FieldTable& removal_fields() {
  static const protocol::FieldTable table(kRemovalFields);
  return table;
}

void add_removal(std::vector<http::Route>& routes, SupplyContext& context) {
  add_core(routes, "POST", "delete",
           [&context](http::Request request, http::PathParams) { return delete_model(context, std::move(request)); });
  routes.push_back({"DELETE", "/models", [&context](http::Request request, http::PathParams) {
                      return delete_by_query(context, std::move(request));
                    }});
}

}  // namespace corral::api
