#include "app/preload.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace corral::app {

std::vector<backends::ModelPtr> models_named(const models::Catalog& catalog, std::span<const ModelName> names) {
  std::vector<backends::ModelPtr> found;
  for (const auto& name : names) {
    const auto model = catalog.find(name.value());
    if (!model) continue;
    const auto is_it = [&](const backends::ModelPtr& other) { return other->name == (*model)->name; };
    if (std::ranges::none_of(found, is_it)) found.push_back(*model);
  }
  return found;
}

async::Task<void> preload(router::ModelRouter& router, std::vector<backends::ModelPtr> models) {
  for (const auto& model : models) {
    auto loading = router.preload(model);
    const auto loaded = co_await std::move(loading);
    if (loaded) {
      log::info("app", "'{}' is loaded at the start", model->name.value());
    } else {
      log::warning("app", "'{}' is not loaded at the start: {}", model->name.value(), loaded.error().message);
    }
  }
}

}  // namespace corral::app
