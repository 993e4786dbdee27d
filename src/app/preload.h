// Loads of models at the start of the server, without a request: pinned models return after a restart.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/catalog.h"
#include "router/model_router.h"

namespace corral::app {

// The models of these names, in their order, each once. Names that the catalog doesn't have are left out. Pure.
std::vector<backends::ModelPtr> models_named(const models::Catalog& catalog, std::span<const ModelName> names);

// Loads them one after the other, and evicts nothing for them. Logs those that can't be loaded. On the home loop;
// `router` must outlive it.
async::Task<void> preload(router::ModelRouter& router, std::vector<backends::ModelPtr> models);

}  // namespace corral::app
