#include "api/admin/unload.h"

namespace corral::api {

async::Task<Result<ModelName>> unload_named(AdminContext& context, std::string name) {
  // A client may use any name of a model. A model that is no longer on disk is found by the name of its load.
  if (const auto known = context.files.models.find_known(name)) name = (*known)->name.value();
  const ModelName model(std::move(name));
  if (context.core.node != nullptr) {
    const auto may = co_await context.core.node->may_unload(model);
    if (!may) co_return std::unexpected(may.error());
  }
  const auto unloaded = co_await context.core.router.unload(model);
  if (!unloaded) co_return std::unexpected(unloaded.error());
  if (context.core.node != nullptr) {
    std::vector<ModelName> models{model};
    co_await context.core.node->unloaded_here(std::move(models));
  }
  co_return model;
}

async::Task<Result<router::UnloadReport>> unload_all(CoreContext& core) {
  auto unloaded = co_await core.router.unload_all();
  if (!unloaded || core.node == nullptr) co_return unloaded;
  auto models = unloaded->unloaded;
  models.insert(models.end(), unloaded->draining.begin(), unloaded->draining.end());
  co_await core.node->unloaded_here(std::move(models));
  co_return unloaded;
}

}  // namespace corral::api
