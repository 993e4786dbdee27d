// Converts settings to the options of each part of the server. Pure, except for the environment, the names of this
// machine and the check if the folder of copies exists. The texts in the settings were checked when they were set.
#pragma once

#include <filesystem>
#include <vector>

#include "api/access/access_filter.h"
#include "api/access/key_store.h"
#include "api/supply/supply.h"
#include "async/offload.h"
#include "backends/engine_backend.h"
#include "backends/external/external_backend.h"
#include "backends/share_backend.h"
#include "config/files/known_models.h"
#include "config/live_settings.h"
#include "downloads/picture_fetcher.h"
#include "fleet/base/node_options.h"
#include "fleet/requests/mesh_gateway.h"
#include "http/server.h"
#include "models/names/user_models.h"
#include "models/registry.h"
#include "router/model_router.h"
#include "store/store.h"

namespace corral::app {

// The table of known models, with the user's own from beside the configuration file. Blocking.
config::KnownModels known_models(const config::LiveSettings& live);
// The path of espeak-ng; empty: it isn't installed. Reads the disk.
std::string espeak_program();
// The same of ffmpeg.
std::string ffmpeg_program();
models::RegistryOptions registry_options(const config::ServeSettings& settings, const config::KnownModels& known);
// `options` with the recipes and the configured models of the backends.
models::RegistryOptions with_backends(models::RegistryOptions options, const backends::KnownBackends& known);
// Those of one recipe.
std::vector<backends::ModelEntry> entries_of(const backends::KnownBackends& known, std::string_view recipe);
// Errors: those of residency::parse_max_loaded_models.
Result<router::RouterOptions> router_options(const config::ServeSettings& settings);
backends::FilesOptions file_options(async::ThreadPool& threads);
downloads::DownloadManagerOptions download_manager_options(const config::ServeSettings& settings);
downloads::CurlOptions picture_fetcher_options();
api::ModelPlaces model_places(const config::ServeSettings& settings);
// Folders in which requests may name files.
std::vector<std::filesystem::path> places_of(const models::RegistryOptions& options);
// `runtime_dir` is for its sockets, the threads for reading models' files.
backends::EngineBackendOptions engine_options(const config::ServeSettings& settings,
                                              const std::filesystem::path& runtime_dir,
                                              async::ThreadPool& file_threads);
// `measured` and the threads must outlive the backends.
backends::ExternalBackendOptions external_options(const config::ServeSettings& settings,
                                                  const std::filesystem::path& runtime_dir,
                                                  async::ThreadPool& file_threads, backends::MeasuredMemory& measured);
backends::ShareOptions share_options(const config::ServeSettings& settings, const std::filesystem::path& runtime_dir);
fleet::NodeOptions node_options(const config::ServeSettings& settings);
api::AccessOptions access_options(const config::ServeSettings& settings, const api::KeyStore& keys);
// `body_threads` decode large bodies.
http::ServerOptions server_options(const config::ServeSettings& settings, async::ThreadPool* body_threads);
store::Limits store_limits(const config::ServeSettings& settings);
fleet::MeshGatewayOptions gateway_options(const config::ServeSettings& settings, async::ThreadPool* body_threads);
// For stopping the processes of models when the server ends; after that they are killed.
Millis shutdown_patience(const config::ServeSettings& settings);
std::size_t loop_count(const config::ServeSettings& settings);

}  // namespace corral::app
