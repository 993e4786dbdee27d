#include "backends/engine_backend.h"

#include <string_view>

#include <fmt/format.h>
#include <sys/un.h>

#include "backends/client_pool.h"
#include "backends/context_prediction.h"
#include "backends/engine_leftovers.h"
#include "backends/engine_protocol.h"
#include "backends/load_order.h"
#include "backends/split_backend.h"
#include "base/log.h"
#include "device/process_memory.h"
#include "device/process_work.h"
#include "proc/control_channel.h"
#include "proc/log_sink.h"

namespace corral::backends {
namespace {

constexpr std::size_t kCauseLines = 6;  // of a dead process's output in the error
constexpr std::size_t kMaxAdapters = 64;
constexpr std::size_t kLogBytes = 4 << 20;  // of a process's log, and as much of its older part
constexpr std::size_t kMaxLogs = 32;        // kept before the next process starts

// Upper bound of the host memory of this model: twice its files (weights in two layouts), cells of every layer twice as
// wide as the model, and an allowance. Only if it exceeds the machine's memory, an estimate is needed.
std::uint64_t upper_bound(const models::ModelInfo& model, const LoadOptions& options) {
  constexpr std::uint64_t kBytesPerValue = 2, kKeysAndValues = 2, kRest = std::uint64_t{1} << 30;
  const auto& traits = model.traits;
  const std::uint64_t cells = first_cells(model, options);
  const std::uint64_t cell = traits.layers * traits.embedding_length * 2 * kKeysAndValues * kBytesPerValue;
  return 2 * model.size.value() + cells * cell + kRest;
}

std::filesystem::path socket_in(const std::filesystem::path& folder, std::uint64_t number) {
  return folder / fmt::format("engine-{}.sock", number);
}

bool names_gpu(const LoadOptions& options) {
  const std::string_view name = options.llamacpp_backend ? std::string_view(*options.llamacpp_backend) : "auto";
  return name != "" && name != "auto" && name != "cpu";
}

bool shares_gpus(const LoadOptions& options) {
  return options.gpu_layers != 0 && (options.devices || options.tensor_split || options.main_gpu);
}

// Only the engine knows whether adapters, draft models and cache types fit the model.
bool may_not_fit_together(const LoadOptions& options) {
  return !named_files(options).empty() || options.cache_type_k || options.cache_type_v || options.flash_attention ||
         options.workers.value_or(0) > 1;
}

// A missing program will be missing for the second attempt too; other failures may be temporary.
Error cannot_start(const Error& cause) {
  const bool missing = cause.code == proc::errc::program_not_found || cause.code == proc::errc::permission_denied;
  return {make_error_code(missing ? errc::backend_not_installed : errc::load_failed),
          "the engine cannot be started: " + cause.message};
}

}  // namespace

class EngineProcess final : public WrappedServer {
 public:
  enum class Weights { all, none };

  EngineProcess(EngineBackend& backend, ModelPtr model, LoadOptions options, EngineSplit split = {},
                Weights weights = Weights::all)
      : backend_(backend),
        model_(std::move(model)),
        options_(std::move(options)),
        split_(std::move(split)),
        weights_(weights),
        downsized_(backend.home_),
        read_all_(backend.home_),
        events_(backend.home_) {}

  ~EngineProcess() override { remove_socket(); }

  // Any end of a load, also its cancellation, has used up the spare, so a new one is needed.
  struct NextSpare {
    EngineBackend& backend;
    ~NextSpare() { backend.want_spare(backend.options_.spare_delay); }
  };

  async::Task<Result<>> load(Hooks hooks) override {
    const NextSpare next{backend_};
    auto loaded = co_await load_in_child(hooks);
    if (loaded) {
      events_.spawn("engine events", follow_requests(started_.child->control(), std::move(hooks)));
    } else if (started_.child) {
      const auto status = co_await started_.child->stop(Millis(0));
      if (loaded.error().code == errc::load_crashed) loaded = std::unexpected(crash(status));
    }
    co_return loaded;
  }

  async::Task<void> stop(Millis grace) override {
    if (!started_.child) co_return;
    co_await started_.child->stop(grace);
    remove_socket();
  }

  async::Task<bool> downsize() override {
    if (!started_.child) co_return false;
    downsized_.reset();
    did_downsize_ = false;
    auto line = downsize_line();
    const auto written = co_await started_.child->control()->write_line(std::move(line));
    if (!written) co_return false;
    if (!silent_) co_await downsized_.wait();
    co_return did_downsize_;
  }

  async::Task<std::string> wait_for_exit() override {
    const auto status = co_await started_.child->wait();
    remove_socket();
    // Includes the last lines of the process.
    if (work_) co_await read_all_.wait();
    if (work_) work_->by_signal = status.kind == proc::ExitStatus::Kind::killed;
    co_return status.describe();
  }

  std::optional<LastWork> last_work() const override { return work_; }

  http::Target& target(async::Executor executor) override { return clients_->on(executor); }

  ServerFacts facts() const override {
    ServerFacts facts;
    if (!started_.child) return facts;
    facts.pid = started_.child->pid();
    facts.launch_command = started_.argv;
    facts.backend_url = "unix:" + started_.socket.native();
    facts.context_window = context_window_;
    facts.memory_bytes = device::process_memory(facts.pid).resident;
    facts.device = device_;
    facts.predicted = predicted_;
    return facts;
  }

  std::filesystem::path log_file() const override { return started_.log_file; }

  std::uint64_t work() const override { return started_.child ? device::process_work(started_.child->pid()) : 0; }

 private:
  async::Task<Result<>> load_in_child(const Hooks& hooks) {
    // A checker of requests leaves the spare to the load that may follow.
    auto starting = weights_ == Weights::none ? backend_.spawn() : backend_.take();
    auto started = co_await std::move(starting);
    const bool spare = started && started->spare;
    auto loaded = co_await load_in(std::move(started), hooks);
    // A spare may have died unnoticed while it waited: its end isn't the model's fault.
    const bool was_dead = spare && !loaded && loaded.error().code == errc::load_crashed && !sent_line_;
    if (!was_dead) co_return loaded;
    co_await started_.child->stop(Millis(0));
    remove_socket();
    auto fresh = co_await backend_.spawn();
    co_return co_await load_in(std::move(fresh), hooks);
  }

  async::Task<Result<>> load_in(Result<EngineBackend::Started> started, const Hooks& hooks) {
    if (!started) co_return std::unexpected(started.error());
    started_ = std::move(*started);
    clients_.emplace(backend_.timers_, http::UnixEndpoint{started_.socket});
    auto order = load_order(*model_, options_);
    order.remotes = split_.remotes;
    order.own_share = split_.own_share;
    order.without_weights = weights_ == Weights::none;
    auto line = to_line(order);
    const auto written = co_await started_.child->control()->write_line(std::move(line));
    if (!written) co_return fail(errc::load_crashed, written.error().message);
    co_return co_await follow_load(hooks);
  }

  async::Task<Result<>> follow_load(const Hooks& hooks) {
    while (true) {
      const auto line = co_await started_.child->control()->read_line();
      if (!line) co_return fail(errc::load_crashed, line.error().message);
      sent_line_ = true;
      const auto event = parse_engine_event(*line);
      if (!event) co_return fail(errc::load_failed, "invalid message of the engine: " + event.error().message);
      if (const auto* progress = std::get_if<EngineProgress>(&*event)) {
        if (hooks.progress) hooks.progress(progress->fraction);
      } else if (const auto* ready = std::get_if<EngineReady>(&*event)) {
        context_window_ = ready->context_window;
        if (ready->sends_requests) work_.emplace();
        device_ = ready->device;
        backend_.cpu_backend_ = ready->cpu_backend;
        if (weights_ == Weights::none) co_return Result<>();
        if (options_.gpu_layers != 0 && device_ != Device::none) backend_.has_gpu_ = has(device_, Device::gpu);
        if (is_split()) {
          predicted_ = MemoryEstimate{.devices = {{.device = "cpu", .weights = split_.memory.total}}};
        } else {
          backend_.predictor_.prove(*model_, options_);
          predicted_ = backend_.predictor_.known(*model_, options_);
        }
        co_return Result<>();
      } else if (const auto* failed = std::get_if<EngineFailed>(&*event)) {
        if (failed->cause == errc::backend_not_installed) backend_.seen_.erase(options_.llamacpp_backend.value_or(""));
        co_return std::unexpected(failed->error());
      }
    }
  }

  async::Task<void> follow_requests(proc::ControlChannel* channel, Hooks hooks) {
    while (true) {
      const auto line = co_await channel->read_line();
      if (!line) break;
      const auto event = parse_engine_event(*line);
      if (!event) continue;
      if (const auto* stats = std::get_if<RequestStats>(&*event); stats && hooks.request_done) {
        hooks.request_done(*stats);
      } else if (const auto* request = std::get_if<EngineRequest>(&*event); request && work_) {
        note(*request);
      } else if (const auto* downsized = std::get_if<EngineDownsized>(&*event)) {
        did_downsize_ = downsized->done;
        downsized_.set();
      }
    }
    silent_ = true;
    downsized_.set();
    read_all_.set();
  }

  void note(const EngineRequest& request) {
    // Lines of one request may arrive out of order: `prepared` after `ended` is ignored.
    const auto known = work_->requests.find(request.id);
    if (request.state == EngineRequest::State::read) {
      work_->requests[request.id] = RequestPhase::read;
    } else if (known != work_->requests.end() && request.state == EngineRequest::State::prepared) {
      known->second = RequestPhase::prepared;
    } else if (known != work_->requests.end()) {
      work_->requests.erase(known);
    }
  }

  Error crash(const proc::ExitStatus& status) const {
    auto text = fmt::format("the engine ended while it loaded '{}': {}", model_->name.value(), status.describe());
    const auto output = started_.child->log().text(kCauseLines);
    if (is_split()) text += "; the likely cause is the loss of an RPC worker or of its connection";
    if (!output.empty()) text += "; its last output: " + output;
    return Error(make_error_code(errc::load_crashed), std::move(text));
  }

  bool is_split() const { return !split_.remotes.empty(); }

  void remove_socket() const {
    std::error_code ignored;
    if (!started_.socket.empty()) std::filesystem::remove(started_.socket, ignored);
  }

  EngineBackend& backend_;
  const ModelPtr model_;
  const LoadOptions options_;
  const EngineSplit split_;  // without remotes: the whole model is here
  const Weights weights_;
  EngineBackend::Started started_;
  std::optional<ClientPool> clients_;
  std::uint64_t context_window_ = 0;
  Device device_ = Device::none;
  std::optional<MemoryEstimate> predicted_;
  bool sent_line_ = false;  // the process has sent a line since the load order
  async::Event downsized_;  // the process has answered, or never will
  bool did_downsize_ = false;
  bool silent_ = false;           // the process sends nothing more
  std::optional<LastWork> work_;  // set if the process reports its requests
  async::Event read_all_;         // all lines of the process were read
  async::TaskGroup events_;
};

EngineBackend::EngineBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner,
                             EngineBackendOptions options)
    : home_(home),
      timers_(timers),
      spawner_(spawner),
      options_(std::move(options)),
      files_(home, timers, options_.files),
      predictor_(home, timers, spawner, files_,
                 {.program = options_.program,
                  .cache_file = options_.estimates_file,
                  .engine_version = options_.engine_version}),
      tasks_(home) {}

EngineBackend::~EngineBackend() = default;

Result<> EngineBackend::check_runtime_dir(const std::filesystem::path& folder) {
  constexpr std::uint64_t kLastNumber = 99'999'999;  // of a process; never reached
  const std::size_t behind = socket_in(folder, kLastNumber).native().size() - folder.native().size();
  const std::size_t max = sizeof(sockaddr_un::sun_path) - 1 - behind;
  if (folder.native().size() <= max) return {};
  return fail(errc::invalid_option,
              fmt::format("'{}' has {} bytes, at most {} are allowed: the path of a socket in it must not exceed {}",
                          folder.native(), folder.native().size(), max, max + behind));
}

void EngineBackend::start() { want_spare(Millis(0)); }

Result<LoadOptions> EngineBackend::resolve(const models::ModelInfo&, const LoadOptions& options) const {
  constexpr std::int64_t kSpeculative = 16;
  if (const auto fine = config::check(options); !fine)
    return fail(errc::invalid_option, fine.error().message, fine.error().param);
  auto resolved = merge(options, LoadOptions{-1, 16, 0, -1, "auto"});
  if (*resolved.ctx_size == 0) resolved.ctx_size = -1;
  // The engine would reject it too, but only after an eviction.
  if (*resolved.ctx_size > 0 && *resolved.ctx_size < *resolved.parallel) {
    return fail(
        errc::invalid_option,
        fmt::format(
            "'ctx_size' is {}, but 'parallel' is {}, and each request needs at least one token: use a larger ctx_size",
            *resolved.ctx_size, *resolved.parallel),
        "ctx_size");
  }
  if (resolved.llamacpp_backend == "") resolved.llamacpp_backend = "auto";
  if (resolved.llamacpp_backend == "cpu") resolved.gpu_layers = 0;
  unset_usual(resolved);
  if (resolved.lora && resolved.lora->size() > kMaxAdapters) {
    return fail(errc::invalid_option,
                fmt::format("'lora' has {} adapters; at most {} are allowed", resolved.lora->size(), kMaxAdapters),
                "lora");
  }
  if (!resolved.speculative) resolved.speculative = kSpeculative;
  return resolved;
}

async::Task<Result<>> EngineBackend::check_files(ModelPtr model, LoadOptions options) {
  auto files = files_of(*model, options);
  const auto looked = co_await files_.look(std::move(files));
  if (!looked) co_return std::unexpected(looked.error());
  for (const auto& file : named_files(options)) {
    const auto state = files_.seen(file.path);
    if (state && state->gguf) continue;
    co_return fail(errc::invalid_option, fmt::format("'{}' is not a GGUF file: '{}'", file.option, file.text),
                   std::string(file.option));
  }
  if (model->paths.empty())
    co_return fail(errc::model_file_not_found, fmt::format("model '{}' has no file", model->name.value()));
  for (const auto& path : own_files_of(*model, options)) {
    const auto state = files_.seen(path);
    if (!state) {
      co_return fail(errc::model_file_not_found,
                     fmt::format("a file of model '{}' is missing: {}", model->name.value(), path.native()), "model");
    }
    // The registry has read the header; a replaced file shows at its first bytes.
    if (!state->gguf) {
      co_return fail(errc::load_failed,
                     fmt::format("a file of model '{}' is no longer GGUF: {}", model->name.value(), path.native()),
                     "model");
    }
  }
  co_return Result<>();
}

std::uint64_t EngineBackend::files_state(const models::ModelInfo& model, const LoadOptions& options) const {
  return files_.state_of(files_of(model, options));
}

// The engine may lack support for a GPU of the machine, and a GPU that shares the machine's memory isn't visible there.
// So the experience of a process overrides `machine`.
Device EngineBackend::device(const models::ModelInfo&, const LoadOptions& options, Device machine) const {
  const bool has_gpu = names_gpu(options) || has_gpu_.value_or(has(machine, Device::gpu));
  return options.gpu_layers != 0 && has_gpu ? Device::gpu : Device::cpu;
}

async::Task<Result<MemoryEstimate>> EngineBackend::estimate(ModelPtr model, LoadOptions options) {
  return predictor_.predict(std::move(model), std::move(options));
}

std::optional<MemoryEstimate> EngineBackend::known_estimate(const models::ModelInfo& model,
                                                            const LoadOptions& options) const {
  return predictor_.known(model, options);
}

std::uint64_t EngineBackend::context(const models::ModelInfo& model, const LoadOptions& options,
                                     std::uint64_t free) const {
  return predicted_context(model, options, predictor_.known(model, options), free);
}

std::uint64_t EngineBackend::rough_bound(const models::ModelInfo& model, const LoadOptions& options) const {
  return upper_bound(model, options);
}

async::Task<Result<>> EngineBackend::preflight(ModelPtr model, LoadOptions options) {
  const HostMemory host = options_.host_memory();
  // Only an engine process knows its compute backends, and those of earlier processes may be gone.
  const bool new_kind = names_gpu(options) && !seen_.contains(*options.llamacpp_backend);
  // Only an engine process knows the GPUs and their memory.
  const bool on_gpu = shares_gpus(options) || (options.gpu_layers != 0 && has_gpu_.value_or(false));
  const bool too_large = host.total != 0 && upper_bound(*model, options) > host.total;
  const bool doubtful = may_not_fit_together(options) && !predictor_.known(*model, options);
  // Only the engine knows whether it can read a file.
  const bool unproven = !predictor_.proven(*model, options);
  if (!unproven && !new_kind && !on_gpu && !too_large && !doubtful) co_return Result<>();
  const auto estimate = co_await predictor_.predict(model, options, new_kind);
  if (!estimate) {
    const auto& error = estimate.error();
    if (error.code == errc::invalid_option || error.code == errc::model_file_not_found ||
        error.code == errc::backend_not_installed || (error.code == errc::file_unusable && unproven))
      co_return std::unexpected(error);
    log::warning("backends", "{}; the load starts anyway", error.message);
    co_return Result<>();
  }
  if (new_kind) seen_.insert(*options.llamacpp_backend);
  auto needs = never_fits(*estimate, host.total);
  if (needs.empty()) co_return Result<>();
  Error error(
      make_error_code(errc::load_never_fits),
      fmt::format("model '{}' {}: use a smaller ctx_size, or a smaller model", model->name.value(), in_words(needs)),
      options.ctx_size.value_or(-1) > 0 ? "ctx_size" : "model");
  error.memory = std::move(needs);
  co_return std::unexpected(std::move(error));
}

std::unique_ptr<WrappedServer> EngineBackend::create(ModelPtr model, const LoadOptions& options) {
  return std::make_unique<EngineProcess>(*this, std::move(model), options);
}

std::unique_ptr<WrappedServer> EngineBackend::create_checker(ModelPtr model, const LoadOptions& options) {
  LoadOptions without = options;
  without.draft_model.reset();  // it doesn't affect which requests are valid
  without.park_dir.reset();
  without.gpu_layers = 0;
  return std::make_unique<EngineProcess>(*this, std::move(model), std::move(without), EngineSplit(),
                                         EngineProcess::Weights::none);
}

std::unique_ptr<WrappedServer> EngineBackend::create_split(ModelPtr model, const LoadOptions& options,
                                                           EngineSplit split) {
  return std::make_unique<EngineProcess>(*this, std::move(model), options, std::move(split));
}

async::Task<Result<EngineBackend::Started>> EngineBackend::take() {
  if (auto spare = std::exchange(spare_, std::nullopt); spare && spare->child->alive()) co_return std::move(*spare);
  co_return co_await spawn();
}

async::Task<Result<EngineBackend::Started>> EngineBackend::spawn() {
  const auto number = ++last_number_;
  Started started;
  started.socket = socket_in(options_.runtime_dir, number);
  started.argv = {options_.program.native(), "engine", "--socket", started.socket.native()};
  proc::ChildSpec spec;
  spec.name = fmt::format("engine-{}", number);
  spec.argv = started.argv;
  spec.control_channel = true;
  spec.binds_itself = true;
  spec.leftovers = engine_leftovers();
  if (!cpu_backend_.empty()) spec.environment["CORRAL_CPU_BACKEND"] = cpu_backend_;
  if (!options_.log_dir.empty()) {
    spec.log_file = options_.log_dir / (spec.name + ".log");
    started.log_file = spec.log_file;
    spec.log_file_bytes = kLogBytes;
    spec.log_begins = true;
    if (options_.files.offload)
      options_.files.offload([dir = options_.log_dir] { proc::keep_newest_logs(dir, kMaxLogs); });
  }
  auto child = co_await spawner_.spawn(std::move(spec));
  if (!child) co_return std::unexpected(cannot_start(child.error()));
  started.child = std::move(*child);
  co_return started;
}

void EngineBackend::want_spare(Millis delay) {
  if (!options_.warm_spare || stopping_ || spare_ || tasks_.running() > 0) return;
  tasks_.spawn("spare engine", make_spare(delay));
}

async::Task<void> EngineBackend::make_spare(Millis delay) {
  if (delay > Millis(0)) co_await timers_.sleep_for(delay);
  auto started = co_await spawn();
  if (!started) {
    log::warning("backends", "no warm spare: {}", started.error().message);
    co_return;
  }
  spare_ = std::move(*started);
  spare_->spare = true;
}

async::Task<void> EngineBackend::stop() {
  stopping_ = true;
  tasks_.cancel();
  co_await tasks_.join();
  co_await predictor_.stop();
  if (auto spare = std::exchange(spare_, std::nullopt)) {
    co_await spare->child->stop(Millis(0));
    std::error_code ignored;
    std::filesystem::remove(spare->socket, ignored);
  }
}

}  // namespace corral::backends
