#include "app/parts_options.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "app/version.h"
#include "backends/external/program_path.h"
#include "base/host_memory.h"
#include "base/log.h"
#include "base/model_type.h"
#include "config/import_folders.h"
#include "config/load/default_options.h"
#include "config/load/request_defaults.h"
#include "config/options/origins.h"
#include "models/scan/hub_cache.h"
#include "proc/exec_mode.h"
#include "residency/limits.h"

namespace corral::app {
namespace {

// Time for an engine to write its parked conversations before it is killed.
constexpr Millis kParkGrace{15'000};
constexpr Millis kSpareDelay{200};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The default folders of a program's models that exist.
std::vector<std::filesystem::path> usual_folders(std::string_view program) {
  const std::filesystem::path home = environment("HOME");
  std::vector<std::filesystem::path> all;
  if (program == "ollama") {
    if (const auto configured = environment("OLLAMA_MODELS"); !configured.empty()) return {configured};
    all = {home / ".ollama/models", "/usr/share/ollama/.ollama/models"};
  } else {
    all = {home / ".lmstudio/models", home / ".cache/lm-studio/models"};
  }
  std::error_code ignored;
  std::erase_if(all, [&](const auto& folder) { return !std::filesystem::is_directory(folder, ignored); });
  return all;
}

// The folders of another program, by the setting.
std::vector<std::filesystem::path> folders_of(const config::ServeSettings& settings, std::string_view program) {
  std::vector<std::filesystem::path> folders;
  const auto configured = config::parse_import_folders(settings.import_folders);  // it was checked when it was set
  if (!configured) return folders;
  for (const auto& folder : *configured) {
    if (folder.program != program) continue;
    auto usual = folder.path.empty() ? usual_folders(program) : std::vector{folder.path};
    folders.insert(folders.end(), usual.begin(), usual.end());
  }
  return folders;
}

std::string variable(std::string_view name) { return environment(std::string(name).c_str()); }

}  // namespace

config::KnownModels known_models(const config::LiveSettings& live) {
  auto known = config::read_known_models(live.file().parent_path() / "known-models.toml");
  if (!known.problem.empty()) log::warning("app", "{}", known.problem);
  return known;
}

namespace {

std::string program_in_path(const std::string& name) {
  const auto found = backends::find_program(name, {}, environment("PATH"));
  return found ? found->native() : std::string();
}

}  // namespace

std::string espeak_program() { return program_in_path("espeak-ng"); }
std::string ffmpeg_program() { return program_in_path("ffmpeg"); }

models::RegistryOptions registry_options(const config::ServeSettings& settings, const config::KnownModels& known) {
  models::RegistryOptions options;
  if (settings.has_one_model()) {
    auto& given = options.given.emplace();
    if (!settings.model_file.empty()) given.file = std::filesystem::absolute(settings.model_file);
    given.names = config::names_in(settings.alias);
    std::ranges::sort(given.names);
    given.tags = config::names_in(settings.tags);
    given.type = parse_model_type(settings.model_type);
    return options;
  }
  options.models_dirs = settings.models_dir;
  // The first copy creates it.
  std::error_code ignored;
  if (std::filesystem::exists(settings.copies_dir(), ignored)) options.models_dirs.push_back(settings.copies_dir());
  // The first import creates it.
  if (std::filesystem::exists(settings.imported_dir(), ignored)) options.models_dirs.push_back(settings.imported_dir());
  for (auto& folder : folders_of(settings, "lmstudio")) options.models_dirs.push_back(std::move(folder));
  options.ollama_dirs = folders_of(settings, "ollama");
  options.user_models = settings.user_models_file();
  options.aliases = settings.aliases_file();
  for (const auto& model : known.models) options.known_names[model.name] = model.source();
  if (settings.hub_cache) options.hub_cache = models::hub_cache_dir(variable);
  if (settings.espeak_model) {
    const auto is_installed = [] { return !espeak_program().empty(); };
    options.installed.push_back(
        {{.name = "espeak-ng", .checkpoint = {}, .recipe = "espeak-ng", .labels = {"tts"}, .configured = true},
         is_installed});
  }
  return options;
}

namespace {

bool has_file(const std::string& word) { return word.contains("{model}") || word.contains("{checkpoints.main}"); }

// Whether the program of an entry reads the model's file: its command has {model}, or {checkpoints.main}.
bool reads_file(const backends::ModelEntry& entry) {
  return entry.descriptor != nullptr &&
         std::ranges::any_of(entry.descriptor->command, [](const backends::CommandPart& part) {
           return std::ranges::any_of(part.words, has_file);
         });
}

std::vector<models::UserModel> models_of(const backends::KnownBackends& known) {
  std::vector<models::UserModel> models;
  for (const auto& entry : known.models) {
    std::vector<std::string> parts;
    for (const auto& [name, file] : entry.parts) parts.push_back(file);
    models.push_back({.name = entry.name,
                      .checkpoint = entry.checkpoint,
                      .recipe = std::string(entry.recipe()),
                      .labels = entry.labels,
                      .aliases = entry.aliases,
                      .configured = true,
                      .reads_file = reads_file(entry),
                      .declared = entry.declared,
                      .parts = std::move(parts)});
  }
  return models;
}

}  // namespace

models::RegistryOptions with_backends(models::RegistryOptions options, const backends::KnownBackends& known) {
  options.configured = models_of(known);
  options.recipes = known.recipes;
  return options;
}

std::vector<backends::ModelEntry> entries_of(const backends::KnownBackends& known, std::string_view recipe) {
  const auto belongs = [&](const backends::ModelEntry& entry) {
    // The engine has no entries: the router asks every backend for the configured options of a model.
    return entry.descriptor ? entry.recipe() == recipe : recipe == backends::kCommandRecipe;
  };
  std::vector<backends::ModelEntry> entries;
  std::ranges::copy_if(known.models, std::back_inserter(entries), belongs);
  return entries;
}

downloads::DownloadManagerOptions download_manager_options(const config::ServeSettings& settings) {
  downloads::DownloadManagerOptions options;
  options.hub = downloads::hub_settings(variable);
  options.downloads.at_once = static_cast<std::size_t>(settings.downloads_at_once);
  options.downloads.each.parts.at_once = static_cast<std::size_t>(settings.download_ranges);
  options.curl.user_agent = fmt::format("corral/{}", kVersion);
  options.curl.ca_file = options.hub.ca_file;
  options.record = settings.downloads_file();
  return options;
}

downloads::CurlOptions picture_fetcher_options() {
  auto options = downloads::picture_options(fmt::format("corral/{}", kVersion));
  options.ca_file = downloads::hub_settings(variable).ca_file;
  return options;
}

api::ModelPlaces model_places(const config::ServeSettings& settings) {
  api::ModelPlaces places{.own = settings.imported_dir(), .copies = settings.copies_dir()};
  places.hub_cache = models::hub_cache_dir(variable);
  places.models_dirs = settings.models_dir;
  for (const char* program : {"lmstudio", "ollama"}) {
    for (auto& folder : folders_of(settings, program)) places.other_tools.push_back(std::move(folder));
  }
  return places;
}

Result<router::RouterOptions> router_options(const config::ServeSettings& settings) {
  router::RouterOptions options;
  const auto limits = residency::parse_max_loaded_models(settings.max_loaded_models);
  if (!limits) return std::unexpected(limits.error());
  options.residency.limits = *limits;
  options.residency.swap_patience = settings.swap_patience;
  options.residency.nuclear_evicts_pinned = settings.nuclear_evicts_pinned;
  options.residency.auto_evict_threshold_pct = settings.auto_evict_threshold_pct;
  const auto role = fleet::role_of(settings.mesh_role, false);
  options.residency.lend_share = role == mesh::Role::client ? 0 : settings.mesh_lend_memory;
  options.residency.lend_idle_unload = settings.mesh_idle_unload;
  options.load_timeout = settings.load_timeout;
  options.watchdog_timeout = settings.watchdog_timeout;
  options.default_options = config::default_load_options(settings);
  options.defaults_without_args = config::default_load_options_without_args(settings);
  if (settings.park_on_disk) options.stop_grace = kParkGrace;
  return options;
}

backends::FilesOptions file_options(async::ThreadPool& threads) {
  return {.offload = [&threads](auto work) { threads.post(std::move(work)); }};
}

std::vector<std::filesystem::path> places_of(const models::RegistryOptions& options) {
  auto places = options.models_dirs;
  if (!options.hub_cache.empty()) places.push_back(options.hub_cache);
  places.insert(places.end(), options.ollama_dirs.begin(), options.ollama_dirs.end());
  return places;
}

backends::EngineBackendOptions engine_options(const config::ServeSettings& settings,
                                              const std::filesystem::path& runtime_dir,
                                              async::ThreadPool& file_threads) {
  const auto other = environment("CORRAL_ENGINE_PROGRAM");
  return {.program = other.empty() ? proc::own_program() : std::filesystem::path(other),
          .runtime_dir = runtime_dir,
          .log_dir = settings.log_dir(),
          .warm_spare = settings.warm_spare,
          .spare_delay = kSpareDelay,
          .estimates_file = settings.state_dir / "memory-estimates.json",
          .engine_version = fmt::format("corral-{}-llama.cpp-{}", kVersion, CORRAL_LLAMA_VERSION),
          .files = file_options(file_threads),
          .host_memory = [limit = settings.memory_limit.value()] {
            HostMemory host = read_host_memory();
            if (limit > 0) host.total = std::min(host.total, limit);
            return host;
          }};
}

backends::ExternalBackendOptions external_options(const config::ServeSettings& settings,
                                                  const std::filesystem::path& runtime_dir,
                                                  async::ThreadPool& file_threads, backends::MeasuredMemory& measured) {
  backends::ExternalBackendOptions options;
  options.runtime_dir = runtime_dir;
  options.log_dir = settings.log_dir();
  options.work_dir = settings.state_dir / "backends";
  const auto own = proc::own_program().parent_path();
  options.program_dirs = {own / "../lib/corral", own};
  options.environment = [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  options.files = file_options(file_threads);
  options.threads = &file_threads;
  options.measured = &measured;
  return options;
}

backends::ShareOptions share_options(const config::ServeSettings& settings, const std::filesystem::path& runtime_dir) {
  return {.program = proc::own_program(),
          .runtime_dir = runtime_dir,
          .log_dir = settings.log_dir(),
          .threads = settings.threads > 0 ? static_cast<unsigned>(settings.threads)
                                          : std::max(1u, std::thread::hardware_concurrency()),
          .watchdog = settings.watchdog_timeout};
}

fleet::NodeOptions node_options(const config::ServeSettings& settings) {
  fleet::NodeOptions options;
  options.folder = settings.mesh_dir();
  options.identity = settings.mesh_identity;
  options.listen = fleet::parse_listen(settings.mesh_listen);
  options.advertise = fleet::parse_addresses(settings.mesh_advertise);
  options.peers = fleet::parse_peers(settings.mesh_peers);
  options.wants = fleet::parse_wants(settings.mesh_models);
  const auto origin = settings.origins.find("mesh_models");
  options.wants_of_start = origin != settings.origins.end() && origin->second.source >= config::Source::environment;
  options.may_found = settings.join_token.empty();
  options.gossip_port = static_cast<std::uint16_t>(settings.mesh_gossip_port);
  options.name = fleet::node_name(settings.mesh_name);
  options.joins = !settings.join_token.empty();
  options.role = fleet::role_of(settings.mesh_role, options.joins && settings.models_dir.empty());
  options.role_is_open = !mesh::parse_role(settings.mesh_role);
  // Memory is never lent completely (residency/lending.cpp): loads would wait in vain for an announced surplus.
  options.lend_memory = std::min(settings.mesh_lend_memory, settings.auto_evict_threshold_pct);
  options.copies = settings.mesh_copies;
  options.auto_copy = settings.mesh_auto_copy;
  options.admin = settings.mesh_admin;
  constexpr Millis kEver = std::chrono::hours(24 * 365 * 100);
  options.idle_unload = settings.mesh_idle_unload == config::kNever ? kEver : settings.mesh_idle_unload;
  // The core unloads lent models by the sooner of both (residency/lending.cpp: lent_eviction).
  if (settings.auto_evict && settings.evict_idle_timeout != config::kNever)
    options.idle_unload = std::min(options.idle_unload, settings.evict_idle_timeout);
  if (options.joins && !options.wants.empty() && options.wants.front().name != fleet::kEveryModel)
    options.assigned_at_start = options.wants.front().name;
  options.version = kVersion;
  options.llama_version = CORRAL_LLAMA_VERSION;
  return options;
}

api::AccessOptions access_options(const config::ServeSettings& settings, const api::KeyStore& keys) {
  api::AccessOptions options;
  options.keys = keys.table();
  options.own_names = config::names_in(settings.host);
  options.loopback_only = std::ranges::all_of(options.own_names, config::is_loopback);
  // Both were checked when they were set.
  options.allowed_origins = config::parse_origins(settings.allowed_origins).value_or(std::vector<std::string>());
  options.allowed_hosts = config::parse_hosts(settings.allowed_hosts).value_or(std::vector<std::string>());
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) == 0) {
    options.own_names.emplace_back(name);
    options.own_names.push_back(std::string(name) + ".local");
  }
  return options;
}

http::ServerOptions server_options(const config::ServeSettings& settings, async::ThreadPool* body_threads) {
  http::ServerOptions options;
  options.threads = body_threads;
  options.max_body_bytes = settings.max_body_bytes.value();
  options.max_bodies_bytes = settings.max_bodies_bytes.value();
  options.max_upload_bytes = settings.max_upload_bytes.value();
  options.max_connections = static_cast<std::size_t>(settings.max_connections);
  options.max_connections_per_address = static_cast<std::size_t>(settings.max_connections_per_address);
  options.head_timeout = settings.head_timeout;
  options.body_pace.grace = settings.slow_client_timeout;
  options.answer_pace.grace = settings.slow_client_timeout;
  return options;
}

store::Limits store_limits(const config::ServeSettings& settings) {
  return {.response_bytes = settings.max_stored_bytes.value(),
          .response_age = settings.max_stored_age.count(),
          .activity_rows = static_cast<std::uint64_t>(settings.max_activity_rows),
          .activity_age = settings.max_activity_age.count(),
          .capture_bytes = settings.capture_bodies ? settings.max_capture_bytes.value() : 0};
}

fleet::MeshGatewayOptions gateway_options(const config::ServeSettings& settings, async::ThreadPool* body_threads) {
  fleet::MeshGatewayOptions options;
  options.handler.max_body_bytes = settings.max_body_bytes.value();
  options.server = server_options(settings, body_threads);
  return options;
}

Millis shutdown_patience(const config::ServeSettings& settings) {
  return settings.park_on_disk ? kParkGrace : Millis(1000);
}

std::size_t loop_count(const config::ServeSettings& settings) {
  if (settings.io_threads > 0) return static_cast<std::size_t>(settings.io_threads);
  // Moving bytes is cheap compared with computing tokens: one loop is enough up to eight cores.
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 8, 1, 4);
}

}  // namespace corral::app
