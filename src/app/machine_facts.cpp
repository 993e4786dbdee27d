#include "app/machine_facts.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/compute_probe.h"
#include "app/parts_options.h"
#include "app/service_state.h"
#include "async/loop.h"
#include "base/log.h"
#include "base/shell_word.h"
#include "base/state_file.h"
#include "config/files/keys.h"
#include "device/errors.h"
#include "device/memory_monitor.h"
#include "models/registry.h"
#include "models/scan/hub_cache.h"
#include "proc/exec_mode.h"
#include "proc/posix_spawner.h"

namespace corral::app {
namespace {

namespace fs = std::filesystem;

// The child first, since a driver is busy while a library starts it.
async::Task<void> examine_gpus(async::Executor home, async::Timers& timers, proc::Spawner& spawner,
                               cli::MachineFacts& facts) {
  auto probing = probe_compute({spawner, timers, proc::own_program()}, facts);
  co_await std::move(probing);
  const auto sources = device::gpu_sources(home, timers, spawner);
  for (const auto& source : sources) {
    auto asking = source->sample();
    const auto pools = co_await std::move(asking);
    if (pools) {
      for (const auto& pool : *pools)
        if (pool.kind == device::PoolKind::gpu) facts.driver_gpus.push_back(pool.name);
    } else if (pools.error().code != device::errc::absent) {
      facts.driver_problems.push_back(fmt::format("{}: {}", source->name(), pools.error().message));
    }
  }
}

void add_gpus(cli::MachineFacts& facts) {
  async::Loop loop;
  async::SystemTimers timers;
  proc::PosixSpawner spawner(timers, {.own_program = proc::own_program()});
  async::run_blocking(loop, examine_gpus(loop.executor(), timers, spawner, facts));
}

// Device files of GPUs that the user can't open.
void add_closed_devices(const FileUser& user, cli::MachineFacts& facts) {
  const auto look = [&](const fs::path& file) {
    std::error_code ignored;
    if (fs::exists(file, ignored) && find_access_problem(file, user)) facts.closed_devices.push_back(file.native());
  };
  std::error_code failed;
  for (fs::directory_iterator at("/dev/dri", failed); !failed && at != fs::directory_iterator(); at.increment(failed))
    if (at->path().filename().native().starts_with("renderD")) look(at->path());
  look("/dev/kfd");
  look("/dev/nvidia0");
}

void add_keys(const config::ServeSettings& settings, cli::MachineFacts& facts) {
  const std::size_t fixed = settings.api_key.empty() ? 0 : 1;
  const auto text = read_state_file(settings.keys_file());
  if (!text) return;  // it belongs to the server's user
  if (!*text) {
    facts.keys = fixed;
    return;
  }
  const auto keys = config::parse_keys(**text, settings.keys_file().native());
  if (keys) {
    facts.keys = keys->keys.size() + fixed;
  } else {
    facts.keys_problem = keys.error().message;
  }
}

FileUser user_of(const config::ServeSettings* settings) {
  struct stat status{};
  const bool known = settings != nullptr && ::stat(settings->state_dir.c_str(), &status) == 0;
  if (!known || status.st_uid == ::geteuid()) return this_user();
  return find_user(status.st_uid).value_or(this_user());
}

// Of the nearest folder that exists.
std::uint64_t free_space(fs::path folder) {
  std::error_code failed;
  for (; !fs::exists(folder, failed) && folder.has_relative_path(); folder = folder.parent_path()) {
  }
  const auto space = fs::space(folder, failed);
  return failed ? 0 : space.available;
}

void add_files(const config::ServeSettings& settings, const config::Environment& environment, const FileUser& user,
               cli::MachineFacts& facts) {
  auto places = registry_options(settings, {});
  places.installed.clear();  // they are no models of the folders
  const auto variable = [&](std::string_view name) { return environment(name).value_or(""); };
  if (settings.hub_cache) places.hub_cache = models::hub_cache_dir(variable);
  for (const auto& folder : settings.models_dir)
    facts.folders.push_back(examine_folder("models_dir", folder, user, false));
  std::error_code ignored;
  if (!places.hub_cache.empty() && fs::exists(places.hub_cache, ignored))
    facts.folders.push_back(examine_folder("hub_cache", places.hub_cache, user, true));
  facts.folders.push_back(examine_folder("state_dir", settings.state_dir, user, true));
  const auto catalog = models::scan(places, nullptr).catalog;
  facts.models = catalog->models().size();
  for (const auto& problem : catalog->problems())
    facts.refused.push_back({problem.path.native(), problem.cause.message});
}

}  // namespace

cli::MachineFacts::Folder examine_folder(std::string setting, const fs::path& path, const FileUser& user,
                                         bool is_written) {
  cli::MachineFacts::Folder folder{
      .setting = std::move(setting), .path = path, .free = free_space(path), .is_written = is_written};
  const auto steps = path_steps(path, user);
  const bool missing = !steps.empty() && steps.back().failed == ENOENT;
  if (auto problem = explain_access(steps, user, path); problem && !(missing && is_written)) {
    folder.reason = std::move(problem->reason);
    folder.command = std::move(problem->command);
    return folder;
  }
  if (!is_written || missing || steps.empty()) return folder;
  constexpr mode_t kWrite = 2;
  const auto& last = steps.back();
  const bool writable = user.is_this_process ? ::access(path.c_str(), W_OK) == 0 : mode_allows(last, user, kWrite);
  if (writable) return folder;
  folder.reason = fmt::format("user '{}' cannot write '{}' (mode {:04o}, owner '{}')", user.name, path.native(),
                              last.mode, last.owner_name);
  folder.command = fmt::format("sudo chown {} {}", shell_word(user.name), shell_word(path.native()));
  return folder;
}

cli::MachineFacts examine_machine(const config::ServeSettings* settings, const config::Environment& environment) {
  log::set_level(log::Level::error);  // the checks show what fails
  cli::MachineFacts facts;
  const auto user = user_of(settings);
  facts.user = user.name;
  facts.memory = read_host_memory();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) facts.open_files = files.rlim_max;  // the server raises its own limit
  add_gpus(facts);
  add_closed_devices(user, facts);
  if (settings != nullptr) {
    add_files(*settings, environment, user, facts);
    add_keys(*settings, facts);
  }
  facts.service = read_service_state();
  return facts;
}

}  // namespace corral::app
