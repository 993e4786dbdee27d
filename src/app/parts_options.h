// What the settings mean for each part of the server. Pure, but for the environment, the names of this machine and the
// look whether the folder of copies is there. The texts in the settings were checked when they were set.
#pragma once

#include <filesystem>
#include <vector>

#include "api/access_filter.h"
#include "api/key_store.h"
#include "async/offload.h"
#include "backends/engine_backend.h"
#include "config/live_settings.h"
#include "fleet/node_options.h"
#include "fleet/traffic.h"
#include "http/server.h"
#include "models/registry.h"
#include "router/model_router.h"

namespace corral::app {

models::RegistryOptions registry_options(const config::ServeSettings& settings);
// Errors: those of residency::parse_max_loaded_models.
Result<router::RouterOptions> router_options(const config::ServeSettings& settings);
backends::FilesOptions file_options(async::ThreadPool& threads);
// Where requests may name files.
std::vector<std::filesystem::path> places_of(const models::RegistryOptions& options);
// `runtime_dir` is for its sockets, the threads for looks at files of models.
backends::EngineBackendOptions engine_options(const config::ServeSettings& settings,
                                              const std::filesystem::path& runtime_dir,
                                              async::ThreadPool& file_threads);
fleet::NodeOptions node_options(const config::ServeSettings& settings);
api::AccessOptions access_options(const config::ServeSettings& settings, const api::KeyStore& keys);
http::ServerOptions server_options(const config::ServeSettings& settings);
fleet::TrafficOptions traffic_options(const config::ServeSettings& settings);
// Of processes of models, at the end.
Millis stop_grace(const config::ServeSettings& settings);
std::size_t loop_count(const config::ServeSettings& settings);

}  // namespace corral::app
