#include "backends/share_backend.h"

#include <chrono>
#include <csignal>

#include <fmt/format.h>

#include "async/task_group.h"
#include "backends/engine_leftovers.h"
#include "base/log.h"
#include "device/process_memory.h"
#include "device/process_work.h"
#include "proc/control_channel.h"
#include "remote/worker_protocol.h"

namespace corral::backends {
namespace {

// Treated as compromised by its peer: its output must cost neither disk nor time.
constexpr std::size_t kLogBytes = 1 << 20;
constexpr std::size_t kLogBytesPerSecond = 64 << 10;
constexpr std::size_t kCauseLines = 6;
// It may hold most of the machine's memory, and the kernel frees that page by page.
constexpr Millis kFreeing{300'000};
// Parts of the silence limit: one before the first query, and three missing answers.
constexpr int kLooks = 4;

async::Task<Result<std::string>> answer(proc::ControlChannel& channel) {
  std::string line(remote::kAskAlive);
  const auto written = co_await channel.write_line(std::move(line));
  if (!written) co_return std::unexpected(written.error());
  co_return co_await channel.read_line();
}

class NoTarget final : public http::Target {
 public:
  async::Task<Result<http::Response>> send(const http::RequestHead&, std::string_view) override { co_return nothing(); }
  async::Task<Result<http::Response>> upload(const http::RequestHead&, http::BodySource&) override {
    co_return nothing();
  }

 private:
  static std::unexpected<Error> nothing() { return fail(errc::backend_died, "a share takes no requests"); }
};

MemoryEstimate estimate_of(std::uint64_t bytes) {
  MemoryEstimate estimate;
  estimate.devices = {{.device = "cpu", .weights = bytes}};
  return estimate;
}

}  // namespace

class ShareProcess final : public WrappedServer {
 public:
  explicit ShareProcess(ShareBackend& backend) : backend_(backend), watching_(backend.home_) {}
  ~ShareProcess() override { remove_socket(); }

  async::Task<Result<>> load(Hooks) override {
    auto spec = backend_.spec();
    argv_ = spec.argv;
    auto spawned = co_await backend_.spawner_.spawn(std::move(spec));
    if (!spawned) {
      const auto& cause = spawned.error();
      co_return fail(errc::load_failed, "the RPC worker cannot be started: " + cause.message);
    }
    child_ = std::move(*spawned);
    auto ready = co_await until_ready();
    if (ready && backend_.options_.watchdog > Millis(0)) watching_.spawn("watchdog of an RPC worker", watch());
    if (ready) co_return ready;
    auto ending = end_by_force();
    const auto status = co_await std::move(ending);
    remove_socket();
    if (ready.error().code == errc::load_crashed) ready = std::unexpected(crash(status));
    co_return ready;
  }

  // It has nothing to clean up, and its peer may control it: it gets no grace.
  async::Task<void> stop(Millis) override {
    co_await stop_watching();
    if (child_) {
      auto ending = end_by_force();
      co_await std::move(ending);
    }
    remove_socket();
  }
  async::Task<bool> downsize() override { co_return false; }
  async::Task<std::string> wait_for_exit() override {
    const auto status = co_await child_->wait();
    co_await stop_watching();
    remove_socket();
    co_return hung_.empty() ? status.describe() : hung_;
  }
  bool is_askable() const override { return false; }
  http::Target& target(async::Executor) override { return target_; }
  ServerFacts facts() const override {
    ServerFacts facts;
    if (!child_) return facts;
    facts.pid = worker();
    facts.launch_command = argv_;
    facts.backend_url = "unix:" + backend_.socket_.native();
    facts.memory_bytes = device::process_memory(facts.pid, backend_.options_.proc).resident;
    facts.device = device_;
    facts.predicted = estimate_of(backend_.order_.bytes);
    return facts;
  }
  std::uint64_t work() const override { return child_ ? device::process_work(worker(), backend_.options_.proc) : 0; }

 private:
  // The computing process: the child process becomes its shadow after the lockdown (proc/sandbox.h).
  pid_t worker() const {
    const pid_t inner = device::first_child(child_->pid(), backend_.options_.proc);
    return inner != 0 ? inner : child_->pid();
  }

  // Its memory is free when this returns: on SIGTERM its shadow kills it and waits for its end. Without a shadow it
  // ends itself; a stopped process must first be continued.
  async::Task<proc::ExitStatus> end_by_force() {
    child_->kill(SIGCONT);
    co_return co_await child_->stop(kFreeing);
  }

  async::Task<void> stop_watching() {
    watching_.cancel();
    co_await watching_.join();
  }

  // One line; later lines are signs of life.
  async::Task<Result<>> until_ready() {
    const auto line = co_await child_->control()->read_line();
    if (!line) co_return fail(errc::load_crashed, line.error().message);
    const auto event = remote::parse_worker_event(*line);
    if (!event) co_return fail(errc::load_failed, "invalid message of the RPC worker: " + event.error().message);
    if (const auto* failed = std::get_if<remote::WorkerFailed>(&*event))
      co_return fail(errc::load_failed, "no worker: " + failed->message);
    const auto& ready = std::get<remote::WorkerReady>(*event);
    const auto& wanted = backend_.order_.llama;
    if (!wanted.empty() && ready.llama != wanted) {
      co_return fail(errc::load_failed,
                     fmt::format("the RPC worker uses llama.cpp {}, its host {}: both need the same version",
                                 ready.llama, wanted));
    }
    for (const auto& open : ready.open)
      log::warning("backends", "a part of the RPC worker's lockdown failed: {}", open);
    for (const auto& one : ready.devices) device_ = one.gpu ? Device::gpu : device_;
    backend_.llama_ = ready.llama;
    co_return Result<>();
  }

  // A stopped process keeps its connections open, so the engine would wait for it permanently.
  async::Task<void> watch() {
    const Millis pace = std::max(backend_.options_.watchdog / kLooks, Millis(1));
    auto next = backend_.timers_.now();
    for (int missed = 0; missed + 1 < kLooks;) {
      next = std::max(next + pace, backend_.timers_.now());
      co_await backend_.timers_.sleep_until(next);
      auto asking = answer(*child_->control());
      const auto answered = co_await async::with_timeout(backend_.timers_, pace, std::move(asking));
      if (answered && !*answered) co_return;  // it is ending
      missed = answered ? 0 : missed + 1;
    }
    hung_ = fmt::format("it did not respond for {} s and was killed",
                        std::chrono::duration<double>(backend_.options_.watchdog).count());
    log::warning("backends", "an RPC worker hangs: {}", hung_);
    auto ending = end_by_force();
    co_await std::move(ending);
  }

  Error crash(const proc::ExitStatus& status) const {
    auto text = fmt::format("the RPC worker ended during its start: {}", status.describe());
    const auto output = child_->log().text(kCauseLines);
    if (!output.empty()) text += "; its last output: " + output;
    return {make_error_code(errc::load_crashed), std::move(text)};
  }

  void remove_socket() const {
    std::error_code ignored;
    std::filesystem::remove(backend_.socket_, ignored);
  }

  ShareBackend& backend_;
  std::vector<std::string> argv_;
  std::unique_ptr<proc::Child> child_;
  Device device_ = Device::cpu;
  NoTarget target_;
  std::string hung_;  // why the watchdog killed it
  async::TaskGroup watching_;
};

ModelPtr share_model(const std::string& host, std::uint64_t bytes) {
  models::ModelInfo model;
  model.name = ModelName("share for " + host);
  model.recipe = "share";
  model.size = Bytes(bytes);
  return std::make_shared<const models::ModelInfo>(std::move(model));
}

ShareBackend::ShareBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner, ShareOptions options,
                           ShareOrder order)
    : home_(home),
      timers_(timers),
      spawner_(spawner),
      options_(std::move(options)),
      order_(std::move(order)),
      socket_(options_.runtime_dir / fmt::format("share-{}.sock", order_.number)) {}

proc::ChildSpec ShareBackend::spec() const {
  proc::ChildSpec spec;
  spec.name = fmt::format("share-{}", order_.number);
  spec.argv = {options_.program.native(),
               "rpc-worker",
               "--socket",
               socket_.native(),
               "--threads",
               fmt::format("{}", options_.threads),
               "--memory",
               fmt::format("{}", order_.bytes)};
  if (!order_.cache.empty()) {
    spec.argv.insert(spec.argv.end(),
                     {"--cache", order_.cache.native(), "--cache-file", fmt::format("{}", order_.cache_bytes)});
  }
  spec.environment[std::string(remote::kWorkerEnvironment.first)] = std::string(remote::kWorkerEnvironment.second);
  spec.control_channel = true;
  spec.binds_itself = true;
  spec.leftovers = engine_leftovers();
  spec.log.bytes_per_second = kLogBytesPerSecond;
  if (!options_.log_dir.empty()) {
    // One file for all shares: peers decide how many there are.
    spec.log_file = options_.log_dir / "shares.log";
    spec.log_file_bytes = kLogBytes;
  }
  return spec;
}

Result<LoadOptions> ShareBackend::resolve(const models::ModelInfo&, const LoadOptions& options) const {
  return options;
}
async::Task<Result<>> ShareBackend::check_files(ModelPtr, LoadOptions) { co_return Result<>(); }
Device ShareBackend::device(const models::ModelInfo&, const LoadOptions&, Device machine) const {
  return has(machine, Device::gpu) ? Device::gpu : Device::cpu;
}
async::Task<Result<MemoryEstimate>> ShareBackend::estimate(ModelPtr, LoadOptions) {
  co_return estimate_of(order_.bytes);
}
std::optional<MemoryEstimate> ShareBackend::known_estimate(const models::ModelInfo&, const LoadOptions&) const {
  return estimate_of(order_.bytes);
}
async::Task<Result<>> ShareBackend::preflight(ModelPtr, LoadOptions) { co_return Result<>(); }
std::unique_ptr<WrappedServer> ShareBackend::create(ModelPtr, const LoadOptions&) {
  return std::make_unique<ShareProcess>(*this);
}
async::Task<void> ShareBackend::stop() { co_return; }

}  // namespace corral::backends
