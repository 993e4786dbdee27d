#include "app/parts_options.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "app/version.h"
#include "base/host_memory.h"
#include "config/default_options.h"
#include "config/origins.h"
#include "models/hub_cache.h"
#include "proc/exec_mode.h"
#include "residency/limits.h"

namespace corral::app {
namespace {

// For an engine to write its parked conversations before it is forced to end.
constexpr Millis kParkGrace{15'000};
constexpr Millis kSpareDelay{200};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

models::RegistryOptions registry_options(const config::ServeSettings& settings) {
  models::RegistryOptions options;
  options.models_dirs = settings.models_dir;
  // Made by the first copy.
  std::error_code ignored;
  if (std::filesystem::exists(settings.copies_dir(), ignored)) options.models_dirs.push_back(settings.copies_dir());
  options.user_models = settings.state_dir / "user_models.json";
  if (settings.hub_cache) {
    options.hub_cache = models::hub_cache_dir(
        {environment("HF_HUB_CACHE"), environment("HF_HOME"), environment("XDG_CACHE_HOME"), environment("HOME")});
  }
  return options;
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

fleet::NodeOptions node_options(const config::ServeSettings& settings) {
  fleet::NodeOptions options;
  options.folder = settings.mesh_dir();
  options.identity = settings.mesh_identity;
  options.listen = fleet::parse_listen(settings.mesh_listen);
  options.advertise = fleet::parse_addresses(settings.mesh_advertise);
  options.peers = fleet::parse_peers(settings.mesh_peers);
  options.wants = fleet::parse_wants(settings.mesh_models);
  options.may_found = settings.join_token.empty();
  options.gossip_port = static_cast<std::uint16_t>(settings.mesh_gossip_port);
  options.name = fleet::node_name(settings.mesh_name);
  options.role = fleet::role_of(settings.mesh_role, !settings.join_token.empty() && settings.models_dir.empty());
  options.lend_memory = settings.mesh_lend_memory;
  options.copies = settings.mesh_copies;
  options.auto_copy = settings.mesh_auto_copy;
  options.admin = settings.mesh_admin;
  options.version = kVersion;
  options.llama_version = CORRAL_LLAMA_VERSION;
  return options;
}

api::AccessOptions access_options(const config::ServeSettings& settings, const api::KeyStore& keys) {
  api::AccessOptions options;
  options.keys = keys.table();
  options.loopback_only = config::is_loopback(settings.host);
  // Both were checked when they were set.
  options.allowed_origins = config::parse_origins(settings.allowed_origins).value_or(std::vector<std::string>());
  options.allowed_hosts = config::parse_hosts(settings.allowed_hosts).value_or(std::vector<std::string>());
  options.own_names = {settings.host};
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) == 0) {
    options.own_names.emplace_back(name);
    options.own_names.push_back(std::string(name) + ".local");
  }
  return options;
}

http::ServerOptions server_options(const config::ServeSettings& settings) {
  http::ServerOptions options;
  options.max_body_bytes = settings.max_body_bytes.value();
  options.max_bodies_bytes = settings.max_bodies_bytes.value();
  options.max_connections = static_cast<std::size_t>(settings.max_connections);
  options.max_connections_per_address = static_cast<std::size_t>(settings.max_connections_per_address);
  options.head_timeout = settings.head_timeout;
  options.body_pace.grace = settings.slow_client_timeout;
  options.answer_pace.grace = settings.slow_client_timeout;
  return options;
}

fleet::TrafficOptions traffic_options(const config::ServeSettings& settings) {
  fleet::TrafficOptions options;
  options.door.max_body_bytes = settings.max_body_bytes.value();
  options.server = server_options(settings);
  return options;
}

Millis stop_grace(const config::ServeSettings& settings) { return settings.park_on_disk ? kParkGrace : Millis(1000); }

std::size_t loop_count(const config::ServeSettings& settings) {
  if (settings.io_threads > 0) return static_cast<std::size_t>(settings.io_threads);
  // Moving bytes is cheap against computing tokens: one loop is enough up to eight cores.
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 8, 1, 4);
}

}  // namespace corral::app
