// Long because it creates, connects, starts and stops all parts in order.
#include "app/serve.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <boost/asio/basic_signal_set.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "api/access/access_filter.h"
#include "api/admin/stats_recorder.h"
#include "api/routes.h"
#include "app/backend_settings.h"
#include "app/config_watch.h"
#include "app/first_steps.h"
#include "app/hub_model.h"
#include "app/model_supply.h"
#include "app/parts_options.h"
#include "app/preload.h"
#include "app/runtime_dir.h"
#include "app/server_threads.h"
#include "app/service_reporter.h"
#include "app/start_problems.h"
#include "app/version.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/engine_backend.h"
#include "backends/external/external_backend.h"
#include "base/log.h"
#include "base/path_access.h"
#include "base/private_folder.h"
#include "base/service_notifier.h"
#include "config/files/known_models.h"
#include "config/files/state_lock.h"
#include "config/load.h"
#include "config/load/llama_args.h"
#include "config/load/request_defaults.h"
#include "console/pack.h"
#include "device/memory_monitor.h"
#include "dialects/error_filter.h"
#include "downloads/picture_fetcher.h"
#include "fleet/allotment/router_allot_actions.h"
#include "fleet/announce/announcer.h"
#include "fleet/announce/speed_probe.h"
#include "fleet/hosting/router_group_processes.h"
#include "fleet/node/join_at_start.h"
#include "fleet/node/node.h"
#include "fleet/requests/mesh_gateway.h"
#include "fleet/requests/registry_local_models.h"
#include "fleet/view/mesh_event_source.h"
#include "http/server.h"
#include "mesh/hints/serf_hints.h"
#include "models/registry.h"
#include "proc/exec_mode.h"
#include "proc/posix_spawner.h"
#include "router/forward/forwarder.h"
#include "router/instances/memory_sampler.h"
#include "router/model_router.h"
#include "store/store.h"

namespace corral::app {
namespace {

// At the end, for reads from disks that do not respond.
constexpr Millis kDiskGrace{1'000};
// Stored data is written within this time, or lost.
constexpr Millis kStoreGrace{5'000};
// For another server with the same state folder, which may be about to end.
constexpr Millis kLockPatience{3'000};
// At the end, for all that has no limit of its own: files and threads.
constexpr Millis kEndGrace{15'000};
// Interval for saving when keys were last used.
constexpr Millis kKeyUses{60'000};

// Each client and each running request holds a descriptor; the usual soft limit of 1,024 is soon reached.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

using Externals = std::vector<std::unique_ptr<backends::ExternalBackend>>;

std::vector<backends::Backend*> backends_of(backends::EngineBackend& engines, const Externals& externals) {
  std::vector<backends::Backend*> all{&engines};
  for (const auto& external : externals) all.push_back(external.get());
  return all;
}

// Everything that lives while the server runs, in the order of creation.
class Application {
 public:
  Application(config::LiveSettings& live, const config::ServeSettings& settings, router::RouterOptions options,
              api::KeyStore& keys, BackendSettings& backends, const ServiceNotifier& notifier)
      : notifier_(notifier),
        backends_(backends),
        live_(live),
        keys_(keys),
        settings_(settings),
        loops_(loop_count(settings)),
        signals_(loops_.home().executor(), SIGINT, SIGTERM),
        hang_ups_(loops_.home().executor(), SIGHUP),
        store_(timers_, {.file = settings.store_file(), .limits = store_limits(settings)}),
        runtime_dir_(settings.runtime_dir),
        spawner_(timers_, {.own_program = proc::own_program()}),
        registry_(places_),
        engines_(loops_.home().executor(), timers_, spawner_,
                 engine_options(settings, runtime_dir_.path(), threads_.files)),
        measured_(settings.state_dir / "measured-memory.json"),
        externals_(make_externals()),
        monitor_(loops_.home().executor(), timers_, {.ram = {.limit = settings.memory_limit.value()}},
                 device::gpu_sources(loops_.home().executor(), timers_, spawner_)),
        gauge_(monitor_),
        inspector_(spawner_, timers_, proc::own_program()),
        router_(loops_.home(), timers_, backends_of(engines_, externals_), std::move(options),
                backends::OptionStore(settings.state_dir / "recipe_options.json"), &gauge_),
        node_(timers_, node_options(settings)),
        mesh_events_([this](router::NoticePtr notice) { router_.notify(std::move(notice)); }),
        announcer_(announcer_parts()),
        shelf_(registry_, announcer_.hashes()),
        weights_(settings.weights_dir(), threads_.weights, timers_),
        groups_(group_parts()),
        gateway_(
            node_.loop().executor(), loops_, timers_, router_, shelf_, [this] { return node_.view()->catalog; },
            gateway_options(settings, &threads_.bodies)),
        allotment_(loops_.home(), node_.loop().executor(), timers_, router_,
                   [this](std::string_view name) { return shelf_.find(name); }),
        forwarder_(gateway_.provider(), timers_),
        models_(registry_, threads_.scans, timers_),
        gate_(loops_.home().executor(), timers_, file_options(threads_.files), [this] { return places_of(places_); }),
        verifier_(settings.state_dir / "verified-hashes.json", threads_.verification),
        file_watch_(router_, threads_.files, timers_),
        stats_(loops_.home().executor(), router_, forwarder_, timers_),
        supply_(timers_, live, settings, supply_hooks()),
        background_(loops_.home(), timers_),
        context_{.core = {.router = router_,
                          .forwarder = forwarder_,
                          .timers = timers_,
                          .about = {.version = std::string(kVersion),
                                    .build_info = fmt::format("b{}-corral-{}", CORRAL_LLAMA_VERSION, kVersion),
                                    .ollama_port = settings.ollama_port,
                                    .console = settings.console},
                          .settings = &live,
                          .node = &node_,
                          .store = &store_,
                          .one_model = settings.has_one_model()},
                 .bodies = {.max_bytes = settings.max_body_bytes.value(), .threads = &threads_.bodies},
                 .access = {.clock = timers_,
                            .keys = &keys,
                            .gate = &gate_,
                            .max_in_flight_per_key = static_cast<std::uint32_t>(settings.max_in_flight_per_key)},
                 .files = {.models = models_,
                           .timers = timers_,
                           .elsewhere = &gateway_.elsewhere(),
                           .hashes = &announcer_.hashes(),
                           .verifier = &verifier_,
                           .watch = &file_watch_}},
        api_(api::make_api(complete_context())),
        access_(*api_, timers_, access_options(settings, keys)),
        errors_(access_),
        server_(loops_, errors_, server_options(settings, &threads_.bodies)),
        watch_(loops_.home().executor(), live.file()),
        keys_watch_(loops_.home().executor(), settings.keys_file()),
        tasks_(loops_.home().executor()) {
    if (const auto& folder = backends.folder(); !folder.empty()) {
      const auto home = loops_.home().executor();
      models_watch_.emplace(ConfigWatch::of_optional(home, folder / "models.toml"));
      descriptors_watch_.emplace(ConfigWatch::of_folder(home, folder / "backends.d"));
    }
    router_.use(backends.known()->recipes);
    live_.on_change([this] { loops_.home().post([this] { apply(); }); });
    keys_.on_change([this](const auto&) { access_.set(access_options(*live_.in_force(), keys_)); });
    node_.on_change([this](const fleet::MeshViewPtr& view) { mesh_changed(view); });
    node_.use_hints([this](async::Executor executor, const fleet::DiscoveryConfig& place) {
      mesh::SerfOptions options{place.node, place.mesh, place.bind, place.folder};
      options.log_file = settings_.log_dir() / "serf.log";
      return mesh::make_serf_hints(executor, timers_, spawner_, std::move(options));
    });
    node_.use_allotment({.actions = &allotment_, .disk = &threads_.mesh_files});
    node_.use_copies(
        {.writes = &threads_.copy_writes,
         .reads = &threads_.copy_reads,
         .lists = &threads_.copy_lists,
         .folder = settings_.copies_dir(),
         .arrived = [this] { loops_.home().post([this] { look_at_copies(); }); },
         .inspector = &inspector_,
         .hashes = [this](const models::ModelInfo& model) { return announcer_.hashes().files_of(model); }});
    node_.use_groups(
        {.processes = &groups_,
         .report_to = [this](fleet::GroupReports* reports) { groups_.listen(node_.loop().executor(), reports); },
         .disk = &threads_.mesh_files,
         .publish_splits =
             [this](std::vector<fleet::SplitStatus> statuses) { gateway_.splits().set(std::move(statuses)); }});
    node_.on_peers([this](mesh::Peers* peers) {
      peers != nullptr ? gateway_.transport().attach(*peers) : gateway_.transport().detach();
    });
  }

  ~Application() {
    live_.on_change({});
    keys_.on_change({});
    threads_.finish();
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  int run(const config::StateLock& lock) {
    const auto listening = listen_everywhere();
    if (!listening) {
      const auto why = explain_listen(listening.error(), settings_.port, live_.file());
      log::error("app", "{}", why);
      notifier_.status(why);
      return 1;
    }
    lock.publish(listening->front().host, listening->front().port);
    for (const auto& endpoint : *listening)
      log::info("app", "corral {} listens on http://{}", kVersion, http::to_string(endpoint));
    if (settings_.console && console::Pack::embedded().empty())
      log::info("app", "the console is not part of this program: it was built without npm");
    listen_as_ollama();
    async::asio::co_spawn(loops_.home().executor(), live(), [this](const std::exception_ptr& failure) {
      if (failure) exit_code_ = 1;
      if (failure) report(failure);
      loops_.stop();
    });
    loops_.run();
    leave_hung_disks();
    return exit_code_;
  }

 private:
  // What the rooms of the API need beyond the first members.
  api::ApiContext& complete_context() {
    auto& inference = context_.inference;
    inference.models_autoload = settings_.models_autoload;
    inference.uploads = std::make_shared<http::SpoolRoom>(settings_.uploads_dir(), settings_.max_uploads_bytes.value(),
                                                          &threads_.uploads);
    context_.filters.request_defaults = settings_.request_defaults;
    context_.filters.voices = &voices_;
    context_.filters.sounds = &sounds_;
    if (settings_.fetch_images) {
      pictures_.emplace(timers_, picture_fetcher_options());
      context_.filters.fetch_picture = [this](std::string url, std::uint64_t max_bytes) {
        return pictures_->fetch(std::move(url), max_bytes);
      };
    }
    context_.filters.encoder = &encoder_;
    context_.responses.background = &background_;
    context_.supply.supply = settings_.has_one_model() ? nullptr : &supply_.supply();
    context_.admin.max_event_readers = static_cast<std::size_t>(settings_.max_event_readers);
    context_.admin.stats = &stats_;
    context_.admin.backend_problems = [this] { return backends_.problems(); };
    context_.llama.slots = settings_.slots;
    return context_;
  }

  // On all addresses of the setting `host`, with one port: if it is 0, the one that the first address gets.
  Result<std::vector<http::TcpEndpoint>> listen_everywhere() {
    std::vector<http::TcpEndpoint> listening;
    auto port = static_cast<std::uint16_t>(settings_.port);
    for (auto& host : config::names_in(settings_.host)) {
      const auto bound = server_.listen_tcp(host, port);
      if (!bound) return std::unexpected(bound.error());
      port = *bound;
      listening.push_back({std::move(host), port});
    }
    return listening;
  }

  // If Ollama's port is in use, usually by Ollama itself, the server works without it.
  void listen_as_ollama() {
    if (settings_.ollama_port == 0) return;
    for (auto& host : config::names_in(settings_.host)) {
      const auto port = server_.listen_tcp(host, static_cast<std::uint16_t>(settings_.ollama_port));
      if (port) {
        log::info("app", "Ollama clients can use http://{}",
                  http::to_string(http::TcpEndpoint{config::local_host(std::move(host)), *port}));
      } else {
        log::warning(
            "app",
            "the port for Ollama clients is not available: {}; end the program that uses it, or set ollama_port to off",
            port.error().message);
      }
    }
  }

  async::Task<void> live() {
    engines_.start();
    if (context_.supply.supply != nullptr) {
      supply_.start();
      download_events_attached_ = router_.attach(supply_.events());
    }
    tasks_.spawn("service manager", service_.run());
    tasks_.spawn("configuration file", follow_file());
    tasks_.spawn("file of keys", follow_keys());
    if (models_watch_) tasks_.spawn("models of backends", follow_backends(*models_watch_));
    if (descriptors_watch_) tasks_.spawn("descriptors of backends", follow_backends(*descriptors_watch_));
    tasks_.spawn("uses of keys", keep_key_uses());
    tasks_.spawn("hang-ups", follow_hang_ups());
    tasks_.spawn("files of loaded models", file_watch_.run());
    tasks_.spawn("statistics", stats_.run());
    tasks_.spawn("first look at the disks", settings_.has_one_model() ? load_given() : first_look());
    node_.start();
    if (!settings_.join_token.empty())
      tasks_.spawn("joining", fleet::keep_joining(node_, timers_, settings_.join_token));
    const auto number = co_await signals_.async_wait(async::use_task);
    log::info("app", "signal {}: stopping, running requests may finish within {} s", number,
              live_.in_force()->drain_timeout.count() / 1000);
    // A second signal ends the process at once. Child processes end with their parent.
    signals_.async_wait([](const boost::system::error_code& error, int second) {
      if (!error) std::_Exit(128 + second);
    });
    co_await shut_down();
    signals_.cancel();
  }

  // One backend for each descriptor, with its configured models.
  Externals make_externals() {
    Externals externals;
    const auto known = backends_.known();
    for (const auto& descriptor : known->descriptors) externals.push_back(make_external(descriptor, *known));
    return externals;
  }

  std::unique_ptr<backends::ExternalBackend> make_external(const backends::DescriptorPtr& descriptor,
                                                           const backends::KnownBackends& known) {
    return std::make_unique<backends::ExternalBackend>(
        loops_.home().executor(), timers_, spawner_, descriptor, entries_of(known, descriptor->recipe),
        external_options(settings_, runtime_dir_.path(), threads_.files, measured_));
  }

  // The files of the backends have changed: later loads use the new descriptors and models.
  async::Task<void> apply_backends() {
    auto work = [this] {
      backends_.reread();
      return true;
    };
    co_await threads_.files.run(std::move(work));
    const auto known = backends_.known();  // a later call may have read it again meanwhile
    router_.use(known->recipes);
    places_ = with_backends(std::move(places_), *known);
    registry_.look_at(places_);
    for (const auto& external : externals_) {
      const auto descriptor = known->find(external->recipe());
      external->change(descriptor ? descriptor : external->descriptor_ptr(), entries_of(*known, external->recipe()));
    }
    for (const auto& descriptor : known->descriptors) {
      const auto is_its = [&](const auto& external) { return external->recipe() == descriptor->recipe; };
      if (std::ranges::any_of(externals_, is_its)) continue;
      router_.add(*externals_.emplace_back(make_external(descriptor, *known)));
    }
    co_await models_.rescan();
  }

  async::Task<void> follow_backends(ConfigWatch& watch) {
    while (co_await watch.changed()) co_await apply_backends();
  }

  // The models that the configuration of the backends names for the start, one after the other.
  // Pinned models return after a restart, and hooks.on_startup.preload of models.toml names others.
  async::Task<void> preload_all() {
    const auto pins = co_await router_.pins();
    std::vector<ModelName> names(pins.begin(), pins.end());
    const auto known = backends_.known();
    const auto catalog = registry_.catalog();
    for (const auto& name : known->preload) {
      if (const auto model = catalog->find(name)) {
        names.emplace_back(name);
      } else {
        log::warning("app", "hooks.on_startup.preload: {}", model.error().message);
      }
    }
    auto loading = preload(router_, models_named(*catalog, names));
    co_await std::move(loading);
    service_.started();
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
            .demand = [this] { return gateway_.demand().announced(); },
            .measure_speeds = [this] { return fleet::measure_speeds(speed_probe()); },
            .state_dir = settings_.state_dir,
            .disk = threads_.weights,
            .publish = [this](fleet::MachineFacts facts) { node_.set_facts(std::move(facts)); }};
  }

  SupplyHooks supply_hooks() {
    return {.known = known_models_,
            .notify = [this](router::NoticePtr notice) { router_.notify(std::move(notice)); },
            .arrived = [this] { loops_.home().post([this] { look_again(); }); },
            .memory = [this] { return async::run_on(loops_.home().executor(), memory_for_models()); }};
  }

  // The largest memory for one model here: the host's, or the sum of all GPUs.
  async::Task<std::uint64_t> memory_for_models() {
    const auto pools = co_await monitor_.sample();
    std::uint64_t host = 0, gpus = 0;
    for (const auto& pool : pools)
      if (pool.kind != device::PoolKind::shared) (pool.kind == device::PoolKind::ram ? host : gpus) += pool.total;
    co_return std::max(host, gpus);
  }

  // A new model has arrived.
  void look_again() {
    if (!stopping_) tasks_.spawn("rescan", models_.rescan());
  }

  fleet::SpeedProbe speed_probe() {
    const auto share = share_options(settings_, runtime_dir_.path());
    return {.spawner = spawner_, .timers = timers_, .program = share.program, .threads = share.threads};
  }

  fleet::RouterGroupParts group_parts() {
    return {.home = loops_.home(),
            .timers = timers_,
            .router = router_,
            .find = [this](const std::string& name) -> backends::ModelPtr {
              const auto found = registry_.catalog()->find(name);
              return found ? *found : nullptr;
            },
            .engine =
                [this](backends::EngineSplit split) {
                  return std::make_shared<backends::SplitBackend>(engines_, std::move(split));
                },
            .worker = [this](backends::ShareOrder order) -> fleet::WorkerBackend {
              auto share = std::make_shared<backends::ShareBackend>(loops_.home().executor(), timers_, spawner_,
                                                                    share_options(settings_, runtime_dir_.path()),
                                                                    std::move(order));
              return {.backend = share, .socket = share->socket(), .llama = [share] { return share->llama(); }};
            },
            .caches = &weights_,
            .llama = CORRAL_LLAMA_VERSION};
  }

  // On the loop of the mesh.
  void mesh_changed(const fleet::MeshViewPtr& view) {
    if (view->phase != fleet::MeshPhase::none) {
      loops_.home().post([this] {
        if (!mesh_events_attached_ && !stopping_) mesh_events_attached_ = router_.attach(mesh_events_);
      });
    }
    mesh_events_.changed(view);
    announcer_.work(view->in_mesh());
  }

  async::Task<void> look_for_models() {
    const auto catalog = co_await models_.fresh_catalog();
    scanned_ = true;
    const auto count = catalog->models().size();
    log::info("app", "{} {} known", count, count == 1 ? "model" : "models");
    for (const auto& problem : catalog->problems())
      log::warning("app", "{}: {}", problem.path.native(), problem.cause.message);
  }

  // Pinned models return after a restart. A server without models logs how to get some.
  async::Task<void> first_look() {
    co_await look_for_models();
    tasks_.spawn("models of the start", preload_all());
    const auto is_configured = [](const auto& model) { return !model->installed; };
    const auto catalog = registry_.catalog();
    if (std::ranges::any_of(catalog->models(), is_configured)) co_return;
    const auto memory = co_await memory_for_models();
    const FirstPlaces places{live_.in_force()->models_dir, live_.file(), supply_.supply().download_manager.offline()};
    for (const auto& line : first_steps(known_models_, memory, places)) log::info("app", "{}", line);
  }

  // From the cache, else from the hub.
  async::Task<Result<HubFile>> file_of_hub_model() {
    auto look = [cache = download_manager_options(settings_).hub.cache, name = settings_.hub_model] {
      return find_in_hub_cache(cache, name);
    };
    auto found = co_await threads_.files.run(std::move(look));
    if (found) co_return found;
    supply_.start();
    const auto args = config::parse_llama_args(settings_.llamacpp_args).value_or(config::LoadOptions());
    auto name = settings_.hub_model;
    if (args.mmproj == config::kNoProjector) name += downloads::kWithoutProjector;
    auto downloading = download_from_hub(supply_.supply().download_manager, std::move(name));
    co_return co_await std::move(downloading);
  }

  // The file of the model of the hub is known only after its download.
  models::RegistryOptions places_by(const config::ServeSettings& settings) const {
    auto places = registry_options(settings, known_models_);
    places.configured = places_.configured;
    places.recipes = places_.recipes;
    if (!hub_file_ || !places.given) return places;
    places.given->file = hub_file_->file;
    if (places.given->names.empty()) places.given->names = {hub_file_->name};
    return places;
  }

  // A server that was started for one model ends if it can't load it.
  async::Task<void> load_given() {
    const auto& hub_model = settings_.hub_model;
    const auto give_up = [this, &hub_model](const std::string& why) {
      if (stopping_) return;  // the stop aborted the load
      const auto text =
          fmt::format("'{}' cannot be served: {}", hub_model.empty() ? settings_.model_file.native() : hub_model, why);
      log::error("app", "{}", text);
      notifier_.status(text);
      exit_code_ = 1;
      std::raise(SIGTERM);
    };
    if (!hub_model.empty()) {
      const auto file = co_await file_of_hub_model();
      if (!file) co_return give_up(file.error().message);
      hub_file_ = *file;
      places_ = places_by(*live_.in_force());
      registry_.look_at(places_);
      co_await models_.rescan();
    }
    co_await look_for_models();
    const auto catalog = registry_.catalog();
    if (catalog->models().empty()) {
      const auto all = {catalog->problems(), catalog->not_models()};
      for (const auto problems : all)
        if (!problems.empty()) co_return give_up(problems.front().cause.message);
      co_return give_up("it is not a valid model");
    }
    auto loading = router_.load(catalog->models().front(), router::OptionPatch(), std::nullopt);
    const auto loaded = co_await std::move(loading);
    if (!loaded) co_return give_up(loaded.error().message);
    context_.inference.given_is_loading = false;
    service_.started();
  }

  // A thread that waits for a disk only ends with the process. Everything else has ended in order by now.
  void leave_hung_disks() {
    const bool kept = store_.finish_within(kStoreGrace);  // even if another disk hangs
    const bool done = kept && threads_.finish_within(kDiskGrace) && announcer_.finish_within(kDiskGrace) &&
                      supply_.finish_within(kDiskGrace);
    if (done) return;
    log::warning("app", "a disk does not respond: its reader is not awaited");
    runtime_dir_.remove();
    std::_Exit(exit_code_);
  }

  // A model was copied from another node.
  void look_at_copies() {
    if (stopping_) return;
    apply();  // the folder may be new
    tasks_.spawn("rescan", models_.rescan());
  }

  // Applies settings that may change while the server runs.
  void apply() {
    if (stopping_) return;
    const auto settings = live_.in_force();
    log::set_level(settings->log_level);
    keys_.set_api_key(settings->api_key);
    access_.set(access_options(*settings, keys_));
    supply_.change(*settings);
    node_.change(node_options(*settings));
    store_.change(store_limits(*settings));
    if (auto options = router_options(*settings)) router_.change(std::move(*options));
    auto places = places_by(*settings);
    if (places == places_) return;
    places_ = places;
    registry_.look_at(std::move(places));
    tasks_.spawn("rescan", models_.rescan());
  }

  async::Task<void> follow_file() {
    do {  // first for changes before the watch began
      live_.reread(config::LiveSettings::Gone::keeps_the_values);
    } while (co_await watch_.changed());
  }

  // `corral key` writes the file.
  async::Task<void> follow_keys() {
    do {
      keys_.reread();
    } while (co_await keys_watch_.changed());
  }

  async::Task<void> keep_key_uses() {
    while (true) {
      co_await timers_.sleep_for(kKeyUses);
      // A small file of state_dir, saved here: on a thread for files it might wait for disks that hang, and delay the
      // end.
      keys_.save_uses();
    }
  }

  // With a terminal, SIGHUP means that the terminal was closed, which ends the server. Without one, services by
  // convention read their configuration again.
  async::Task<void> follow_hang_ups() {
    while (true) {
      co_await hang_ups_.async_wait(async::use_task);
      if (has_terminal_) {
        std::raise(SIGTERM);
      } else {
        log::info("app", "reading {} again", live_.file().native());
        live_.reread(config::LiveSettings::Gone::counts_as_empty);
        keys_.reread();
        tasks_.spawn("files of backends", apply_backends());
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

  // Start-up in reverse: no new requests, running ones finish, then the backends stop.
  async::Task<void> shut_down() {
    stopping_ = true;
    service_.stopping(live_.in_force()->drain_timeout + shutdown_patience(*live_.in_force()) + kEndGrace);
    tasks_.cancel();
    co_await tasks_.join();
    co_await router_.end_events();  // otherwise the server would wait for their readers
    const auto settings = live_.in_force();
    node_.wind_down(settings->drain_timeout);
    // Requests of peers finish in parallel with those of clients.
    tasks_.spawn("requests of peers", gateway_.close(settings->drain_timeout));
    tasks_.spawn("responses in the background", background_.wind_down(settings->drain_timeout));
    co_await server_.stop(settings->drain_timeout, [this] { forwarder_.requests().interrupt(); });
    co_await context_.llama.kept_streams.stop();
    co_await tasks_.join();
    co_await supply_.stop();
    co_await node_.stop(gateway_.stop());
    co_await allotment_.stop();
    co_await groups_.stop();  // after the node, which uses it to release other hosts' shares
    co_await announcer_.stop();
    mesh_events_attached_.reset();
    download_events_attached_.reset();
    co_await router_.stop(shutdown_patience(*settings));
    co_await monitor_.stop();
    co_await engines_.stop();
    keys_.save_uses();
  }

  const ServiceNotifier& notifier_;
  BackendSettings& backends_;
  config::LiveSettings& live_;
  api::KeyStore& keys_;
  const config::ServeSettings& settings_;                   // at the start
  const bool has_terminal_ = ::isatty(STDERR_FILENO) != 0;  // checked before it may be closed
  int exit_code_ = 0;
  bool stopping_ = false;
  bool scanned_ = false;             // the disks, at least once
  std::optional<HubFile> hub_file_;  // of the setting hub_model, when it is here
  async::LoopPool loops_;
  // From here on a signal is kept until live() waits for it.
  async::asio::basic_signal_set<async::Executor> signals_;
  async::asio::basic_signal_set<async::Executor> hang_ups_;
  async::SystemTimers timers_;
  ServerThreads threads_;
  store::Store store_;
  RuntimeDir runtime_dir_;
  proc::PosixSpawner spawner_;
  const config::KnownModels known_models_ = known_models(live_);
  models::RegistryOptions places_ = with_backends(registry_options(settings_, known_models_), *backends_.known());
  models::Registry registry_;
  backends::EngineBackend engines_;
  backends::MeasuredMemory measured_;
  Externals externals_;
  device::MemoryMonitor monitor_;
  router::DeviceMemorySampler gauge_;
  fleet::FileInspector inspector_;
  router::ModelRouter router_;
  fleet::Node node_;
  fleet::MeshEventSource mesh_events_;
  std::shared_ptr<void> mesh_events_attached_;  // attached to the event streams once there is a mesh
  fleet::Announcer announcer_;
  fleet::RegistryLocalModels shelf_;
  fleet::WeightCaches weights_;
  fleet::RouterGroupProcesses groups_;
  fleet::MeshGateway gateway_;
  fleet::RouterAllotActions allotment_;
  router::Forwarder forwarder_;
  api::DiskCatalog models_;
  api::FileGate gate_;
  api::FileVerifier verifier_;
  api::FileWatch file_watch_;
  api::StatsRecorder stats_;
  ModelSupply supply_;
  std::shared_ptr<void> download_events_attached_;
  backends::Voices voices_{spawner_, timers_, espeak_program};
  backends::FfmpegConverter sounds_{spawner_, timers_, ffmpeg_program};
  std::optional<downloads::PictureFetcher> pictures_;  // with the setting fetch_images
  backends::FfmpegEncoder encoder_{spawner_, ffmpeg_program};
  api::BackgroundResponses background_;
  api::ApiContext context_;
  std::unique_ptr<http::Handler> api_;
  api::AccessFilter access_;
  dialects::ErrorFilter errors_;
  http::Server server_;
  ConfigWatch watch_;
  ConfigWatch keys_watch_;
  std::optional<ConfigWatch> models_watch_, descriptors_watch_;
  ServiceReporter service_{
      notifier_,
      timers_,
      {.report = [this] { return router_.report(); }, .visit_loops = [this] { return visit_all(loops_); }}};
  async::TaskGroup tasks_;
};

}  // namespace

int serve(config::LiveSettings& live) {
  if (!proc::bind_to_parent_from_environment()) return 1;  // of a command that started it (cli/server/server_starter.h)
  const auto started = live.in_force();
  const config::ServeSettings& settings = *started;
  log::set_level(settings.log_level);
  raise_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);  // writes to closed connections return an error instead
  const auto notifier = ServiceNotifier::of_this_process();
  const auto give_up = [&notifier](int code, const std::string& why) {
    log::error("app", "{}", why);
    notifier.status(why);
    return code;
  };
  if (const auto safe = close_to_others(settings.state_dir); !safe)
    return give_up(2, explain_state_dir(safe.error(), settings.state_dir, this_user().name));
  std::error_code unknown_space;
  const auto space = std::filesystem::space(settings.state_dir, unknown_space);
  if (const auto full = explain_free_space(space.available, settings.state_dir); full && !unknown_space)
    log::error("app", "{}", *full);
  const auto lock = config::StateLock::take(settings.state_dir, kLockPatience);
  if (!lock) return give_up(2, lock.error().message);
  std::error_code ignored;  // without the folder child logs are kept in memory only, and a warning is logged
  std::filesystem::create_directories(settings.log_dir(), ignored);
  std::filesystem::permissions(settings.log_dir(), std::filesystem::perms::owner_all, ignored);
  BackendSettings backends(settings.has_one_model() ? "" : live.file().parent_path());
  std::filesystem::create_directories(settings.imported_dir(), ignored);  // for imports at runtime
  auto options = router_options(settings);
  if (!options) return give_up(2, options.error().message);
  try {
    const auto keys = api::KeyStore::open(settings.keys_file(), settings.key_uses_file(), settings.api_key);
    if (!keys) return give_up(2, keys.error().message);
    Application application(live, settings, std::move(*options), **keys, backends, notifier);
    return application.run(*lock);
  } catch (const std::exception& error) {
    return give_up(1, error.what());
  }
}

}  // namespace corral::app
