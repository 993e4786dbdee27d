#include "api/admin/unload.h"

#include "fleet/base/errors.h"
#include "fleet/node/member_runtime.h"

namespace corral::api {
namespace {

using fleet::MemberRuntime;

async::Task<Result<>> may_unload(CoreContext& core, ModelName model) {
  if (core.node == nullptr) co_return Result<>();
  auto asking = core.node->ask(&MemberRuntime::may_unload, std::move(model));
  auto may = co_await std::move(asking);
  if (!may && may.error().code == fleet::errc::no_mesh) co_return Result<>();
  co_return may;
}

async::Task<void> notify_mesh(CoreContext& core, std::vector<ModelName> models) {
  if (core.node == nullptr) co_return;
  auto notifying = core.node->ask(&MemberRuntime::unloaded_here, std::move(models));
  (void)co_await std::move(notifying);  // its only error: there is no mesh
}

}  // namespace

async::Task<Result<ModelName>> unload_named(AdminContext& context, std::string name) {
  // A client may use any name of a model. A model that is no longer on disk is found by the name of its load.
  if (const auto known = context.files.models.find_known(name)) name = (*known)->name.value();
  const ModelName model(std::move(name));
  auto asking = may_unload(context.core, model);
  if (const auto may = co_await std::move(asking); !may) co_return std::unexpected(may.error());
  const auto unloaded = co_await context.core.router.unload(model);
  if (!unloaded) co_return std::unexpected(unloaded.error());
  std::vector<ModelName> models{model};
  co_await notify_mesh(context.core, std::move(models));
  co_return model;
}

async::Task<Result<router::UnloadReport>> unload_all(CoreContext& core) {
  auto unloaded = co_await core.router.unload_all();
  if (!unloaded) co_return unloaded;
  auto models = unloaded->unloaded;
  models.insert(models.end(), unloaded->draining.begin(), unloaded->draining.end());
  co_await notify_mesh(core, std::move(models));
  co_return unloaded;
}

}  // namespace corral::api
