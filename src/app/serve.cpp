#include "app/serve.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <boost/asio/basic_signal_set.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "api/access_filter.h"
#include "api/routes.h"
#include "app/config_watch.h"
#include "app/parts_options.h"
#include "app/runtime_dir.h"
#include "app/version.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/engine_backend.h"
#include "base/log.h"
#include "config/load.h"
#include "device/memory_monitor.h"
#include "dialects/error_teller.h"
#include "fleet/announcer.h"
#include "fleet/join_at_start.h"
#include "fleet/mesh_teller.h"
#include "fleet/node.h"
#include "fleet/own_shelf.h"
#include "fleet/traffic.h"
#include "http/server.h"
#include "mesh/hints/serf_hints.h"
#include "models/registry.h"
#include "proc/exec_mode.h"
#include "proc/posix_spawner.h"
#include "router/forwarder.h"
#include "router/memory_gauge.h"
#include "router/model_router.h"

namespace corral::app {
namespace {

// The look at the disks for models; nobody else waits on its thread.
constexpr std::size_t kScanThreads = 1;
// For looks at files of models: as many disks may hang before the others wait as well.
constexpr std::size_t kFileThreads = 4;
constexpr std::size_t kCopyReaders = 2;
// For large bodies, which are many megabytes at worst and looked through in milliseconds each.
constexpr std::size_t kBodyThreads = 1;
// At the end, for looks at disks that give no answer.
constexpr Millis kDiskGrace{1'000};
// When keys were last used is written this often, if any was.
constexpr Millis kKeyUses{60'000};

// Each client and each request under way holds a descriptor; the usual soft limit of 1,024 is soon reached.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Everything that lives while the server runs, in the order of its making.
class Application {
 public:
  Application(config::LiveSettings& live, const config::ServeSettings& settings, router::RouterOptions options,
              api::KeyStore& keys)
      : live_(live),
        keys_(keys),
        settings_(settings),
        loops_(loop_count(settings)),
        signals_(loops_.home().executor(), SIGINT, SIGTERM),
        hang_ups_(loops_.home().executor(), SIGHUP),
        scan_threads_(kScanThreads),
        file_threads_(kFileThreads),
        copy_writes_(1),
        copy_reads_(kCopyReaders),
        copy_lists_(1),
        body_threads_(kBodyThreads),
        runtime_dir_(settings.runtime_dir),
        spawner_(timers_, {.own_program = proc::own_program()}),
        registry_(places_),
        engines_(loops_.home().executor(), timers_, spawner_,
                 engine_options(settings, runtime_dir_.path(), file_threads_)),
        monitor_(loops_.home().executor(), timers_, {.ram = {.limit = settings.memory_limit.value()}},
                 device::gpu_sources(loops_.home().executor(), timers_, spawner_)),
        gauge_(monitor_),
        inspector_(spawner_, timers_, proc::own_program()),
        router_(loops_.home(), timers_, {&engines_}, std::move(options),
                backends::OptionStore(settings.state_dir / "recipe_options.json"), &gauge_),
        node_(timers_, node_options(settings)),
        mesh_events_([this](router::NoticePtr notice) { router_.tell(std::move(notice)); }),
        announcer_(announcer_parts()),
        shelf_(registry_, announcer_.hashes()),
        traffic_(
            node_.loop().executor(), loops_, timers_, router_, shelf_, [this] { return node_.view()->catalog; },
            traffic_options(settings),
            [this](const auto& catalog, const auto& model, auto to) { return node_.bring(catalog, model, to); }),
        forwarder_(traffic_.lender(), timers_),
        models_(registry_, scan_threads_, timers_),
        gate_(loops_.home().executor(), timers_, file_options(file_threads_), [this] { return places_of(places_); }),
        context_{router_,
                 forwarder_,
                 models_,
                 timers_,
                 std::string(kVersion),
                 settings.max_body_bytes.value(),
                 &live,
                 static_cast<std::size_t>(settings.max_event_readers),
                 &gate_,
                 &keys,
                 &body_threads_,
                 &node_,
                 &traffic_.elsewhere()},
        api_(api::make_api(context_)),
        access_(*api_, timers_, access_options(settings, keys)),
        errors_(access_),
        server_(loops_, errors_, server_options(settings)),
        watch_(loops_.home().executor(), live.file()),
        keys_watch_(loops_.home().executor(), settings.keys_file()),
        tasks_(loops_.home().executor()) {
    live_.on_change([this] { loops_.home().post([this] { apply(); }); });
    keys_.on_change([this](const auto&) { access_.set(access_options(*live_.in_force(), keys_)); });
    node_.on_change([this](const fleet::MeshViewPtr& view) { mesh_changed(view); });
    node_.use_hints([this](async::Executor executor, const fleet::HintPlace& place) {
      mesh::SerfOptions options{place.node, place.mesh, place.bind, place.folder};
      options.log_file = settings_.log_dir() / "serf.log";
      return mesh::make_serf_hints(executor, timers_, spawner_, std::move(options));
    });
    node_.use_copies(
        {.writes = &copy_writes_,
         .reads = &copy_reads_,
         .lists = &copy_lists_,
         .folder = settings_.copies_dir(),
         .arrived = [this] { loops_.home().post([this] { look_at_copies(); }); },
         .inspector = &inspector_,
         .hashes = [this](const models::ModelInfo& model) { return announcer_.hashes().files_of(model); }});
    node_.on_peers([this](mesh::Peers* peers) {
      peers != nullptr ? traffic_.crossing().attach(*peers) : traffic_.crossing().detach();
    });
  }

  ~Application() {
    live_.on_change({});
    keys_.on_change({});
    scan_threads_.finish();
    file_threads_.finish();
    for (auto* threads : {&copy_writes_, &copy_reads_, &copy_lists_}) threads->finish();
    body_threads_.finish();
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  int run() {
    const auto port = server_.listen_tcp(settings_.host, static_cast<std::uint16_t>(settings_.port));
    if (!port) {
      log::error("app", "{}", port.error().message);
      return 1;
    }
    log::info("app", "corral {} listens on http://{}:{}", kVersion, settings_.host, *port);
    async::asio::co_spawn(loops_.home().executor(), live(), [this](const std::exception_ptr& failure) {
      exit_code_ = failure ? 1 : 0;
      if (failure) report(failure);
      loops_.stop();
    });
    loops_.run();
    leave_hung_disks();
    return exit_code_;
  }

 private:
  async::Task<void> live() {
    engines_.start();
    tasks_.spawn("configuration file", follow_file());
    tasks_.spawn("file of keys", follow_keys());
    tasks_.spawn("uses of keys", keep_key_uses());
    tasks_.spawn("hang-ups", follow_hang_ups());
    tasks_.spawn("first look at the disks", look_for_models());
    node_.start();
    if (!settings_.join_token.empty())
      tasks_.spawn("joining", fleet::keep_joining(node_, timers_, settings_.join_token));
    const auto number = co_await signals_.async_wait(async::use_task);
    log::info("app", "signal {}: stopping, running requests may finish within {} s", number,
              live_.in_force()->drain_timeout.count() / 1000);
    // Who asks twice doesn't want to wait. Children end with their parent.
    signals_.async_wait([](const boost::system::error_code& error, int second) {
      if (!error) std::_Exit(128 + second);
    });
    co_await shut_down();
    signals_.cancel();
  }

  fleet::AnnouncerParts announcer_parts() {
    return {.home = loops_.home(),
            .timers = timers_,
            .router = router_,
            .monitor = monitor_,
            .catalog = [this] { return scanned_ ? registry_.catalog() : nullptr; },
            .look_again =
                [this] {
                  if (!stopping_) tasks_.spawn("rescan", models_.rescan());
                },
            .demand = [this] { return traffic_.demand().told(); },
            .state_dir = settings_.state_dir,
            .tell = [this](fleet::MachineFacts facts) { node_.tell(std::move(facts)); }};
  }

  // On the loop of the mesh.
  void mesh_changed(const fleet::MeshViewPtr& view) {
    if (view->phase != fleet::MeshPhase::none) {
      loops_.home().post([this] {
        if (!tells_of_mesh_ && !stopping_) tells_of_mesh_ = router_.attach(mesh_events_);
      });
    }
    mesh_events_.changed(view);
    announcer_.work(view->in_mesh());
  }

  async::Task<void> look_for_models() {
    const auto catalog = co_await models_.fresh_catalog();
    scanned_ = true;
    log::info("app", "{} models known", catalog->models().size());
    for (const auto& problem : catalog->problems())
      log::warning("app", "{}: {}", problem.path.native(), problem.cause.message);
  }

  // A thread that waits for a disk can't be ended but with the process. All the rest has ended in order by now.
  void leave_hung_disks() {
    const bool done = scan_threads_.finish_within(kDiskGrace) && file_threads_.finish_within(kDiskGrace) &&
                      announcer_.finish_within(kDiskGrace) && copy_writes_.finish_within(kDiskGrace) &&
                      copy_reads_.finish_within(kDiskGrace) && copy_lists_.finish_within(kDiskGrace);
    if (done) return;
    log::warning("app", "a disk gives no answer: its reader isn't waited for");
    runtime_dir_.remove();
    std::_Exit(exit_code_);
  }

  // A model was copied from another node.
  void look_at_copies() {
    if (stopping_) return;
    apply();  // the folder may be new
    tasks_.spawn("rescan", models_.rescan());
  }

  // What can change while the server runs, brought to where it counts.
  void apply() {
    if (stopping_) return;
    const auto settings = live_.in_force();
    log::set_level(settings->log_level);
    keys_.set_api_key(settings->api_key);
    access_.set(access_options(*settings, keys_));
    node_.change(node_options(*settings));
    if (auto options = router_options(*settings)) router_.change(std::move(*options));
    auto places = registry_options(*settings);
    if (places == places_) return;
    places_ = places;
    registry_.look_at(std::move(places));
    tasks_.spawn("rescan", models_.rescan());
  }

  async::Task<void> follow_file() {
    do {  // at first for what was written before the watch began
      live_.reread(config::LiveSettings::Gone::keeps_the_values);
    } while (co_await watch_.changed());
  }

  // Written by `corral key`.
  async::Task<void> follow_keys() {
    do {
      keys_.reread();
    } while (co_await keys_watch_.changed());
  }

  async::Task<void> keep_key_uses() {
    while (true) {
      co_await timers_.sleep_for(kKeyUses);
      // A small file of state_dir. On a thread for files it might wait behind disks that hang, and the end with it.
      keys_.save_uses();
    }
  }

  // With a terminal it means that somebody has closed it, which ends the server; without one it is the custom that a
  // service reads its configuration again.
  async::Task<void> follow_hang_ups() {
    while (true) {
      co_await hang_ups_.async_wait(async::use_task);
      if (has_terminal_) {
        std::raise(SIGTERM);
      } else {
        log::info("app", "reading {} again", live_.file().native());
        live_.reread(config::LiveSettings::Gone::counts_as_empty);
        keys_.reread();
        tasks_.spawn("rescan", models_.rescan());
      }
    }
  }

  static void report(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      log::error("app", "{}", error.what());
    }
  }

  // Start-up reversed: no new requests, the running ones finish, then the backends go.
  async::Task<void> shut_down() {
    stopping_ = true;
    tasks_.cancel();
    co_await tasks_.join();
    co_await router_.end_events();  // or their readers would be waited for
    const auto settings = live_.in_force();
    // Those of peers finish beside those of clients.
    tasks_.spawn("requests of peers", traffic_.close(settings->drain_timeout));
    co_await server_.stop(settings->drain_timeout);
    co_await tasks_.join();
    co_await node_.stop(traffic_.stop());
    co_await announcer_.stop();
    tells_of_mesh_.reset();
    co_await router_.stop(stop_grace(*settings));
    co_await monitor_.stop();
    co_await engines_.stop();
    keys_.save_uses();
  }

  config::LiveSettings& live_;
  api::KeyStore& keys_;
  const config::ServeSettings& settings_;                   // of the start
  const bool has_terminal_ = ::isatty(STDERR_FILENO) != 0;  // asked before it may be gone
  int exit_code_ = 0;
  bool stopping_ = false;
  bool scanned_ = false;  // the disks, once
  async::LoopPool loops_;
  // From here on a signal is kept until live() asks for it, however early it comes.
  async::asio::basic_signal_set<async::Executor> signals_;
  async::asio::basic_signal_set<async::Executor> hang_ups_;
  async::SystemTimers timers_;
  async::ThreadPool scan_threads_;
  async::ThreadPool file_threads_;
  async::ThreadPool copy_writes_, copy_reads_, copy_lists_;
  async::ThreadPool body_threads_;
  RuntimeDir runtime_dir_;
  proc::PosixSpawner spawner_;
  models::RegistryOptions places_ = registry_options(settings_);
  models::Registry registry_;
  backends::EngineBackend engines_;
  device::MemoryMonitor monitor_;
  router::MonitorGauge gauge_;
  fleet::FileInspector inspector_;
  router::ModelRouter router_;
  fleet::Node node_;
  fleet::MeshTeller mesh_events_;
  std::shared_ptr<void> tells_of_mesh_;  // readers of events are told of it since there was one
  fleet::Announcer announcer_;
  fleet::OwnShelf shelf_;
  fleet::Traffic traffic_;
  router::Forwarder forwarder_;
  api::ModelFinder models_;
  api::FileGate gate_;
  api::Context context_;
  std::unique_ptr<http::Handler> api_;
  api::AccessFilter access_;
  dialects::ErrorTeller errors_;
  http::Server server_;
  ConfigWatch watch_;
  ConfigWatch keys_watch_;
  async::TaskGroup tasks_;
};

}  // namespace

int serve(config::LiveSettings& live) {
  const auto started = live.in_force();
  const config::ServeSettings& settings = *started;
  log::set_level(settings.log_level);
  raise_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);  // who writes to somebody who has gone is told so by the call
  std::error_code ignored;        // without it the children's logs are kept in memory only, and a warning says so
  std::filesystem::create_directories(settings.log_dir(), ignored);
  std::filesystem::permissions(settings.log_dir(), std::filesystem::perms::owner_all, ignored);
  auto options = router_options(settings);
  if (!options) {
    log::error("app", "{}", options.error().message);
    return 2;
  }
  try {
    const auto keys = api::KeyStore::open(settings.keys_file(), settings.key_uses_file(), settings.api_key);
    if (!keys) {
      log::error("app", "{}", keys.error().message);
      return 2;
    }
    Application application(live, settings, std::move(*options), **keys);
    return application.run();
  } catch (const std::exception& error) {
    log::error("app", "{}", error.what());
    return 1;
  }
}

}  // namespace corral::app
