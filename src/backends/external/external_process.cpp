#include "backends/external/external_process.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/external/address.h"
#include "backends/external/errors.h"
#include "base/log.h"
#include "device/process_memory.h"
#include "device/process_tree.h"
#include "proc/log_sink.h"

namespace corral::backends {
namespace {

constexpr std::size_t kLastOutput = 6;         // lines of a dead process's output in the error
constexpr std::size_t kExternalLog = 4 << 20;  // of a log, and as much of its older part
constexpr std::size_t kMaxExternalLogs = 32;
constexpr int kPorts = 3;  // ports that are tried
constexpr Millis kFirstPause{10}, kLongestPause{250};
constexpr Millis kProbe{5'000};  // time limit of one query, then it is repeated
constexpr Millis kFirstMeasure{10'000}, kLongestMeasure{300'000};
constexpr std::uint64_t kLargestProbe = 64 * 1024;

// Runs `work` off the loop if there are threads for it.
template <typename Work>
async::Task<std::invoke_result_t<Work>> off_loop(async::ThreadPool* threads, Work work) {
  if (threads == nullptr) co_return work();
  co_return co_await threads->run(std::move(work));
}

async::Task<std::optional<unsigned>> ask(http::Target& target) {
  const http::RequestHead head{"GET", "/health", {}};
  auto answer = co_await target.send(head, {});
  if (!answer) co_return std::nullopt;
  const unsigned status = answer->head.status;
  (void)co_await answer->body.read_all(kLargestProbe);
  co_return status;
}

struct Probed {
  std::optional<unsigned> status = {};
  bool silent = false;  // no response came in time; else the connection ended
};

async::Task<Probed> probe(async::Timers& timers, http::Target& target) {
  const auto began = timers.now();
  auto asking = ask(target);
  const auto answered = co_await async::with_timeout(timers, kProbe, std::move(asking));
  if (answered && *answered) co_return Probed{.status = *answered};
  // A client that is cancelled returns an error, as if the connection had ended.
  co_return Probed{.silent = timers.now() - began >= kProbe};
}

}  // namespace

ExternalProcess::ExternalProcess(ExternalBackend& backend, ModelPtr model, DescriptorPtr descriptor,
                                 LoadOptions options)
    : backend_(backend),
      model_(std::move(model)),
      descriptor_(std::move(descriptor)),
      options_(std::move(options)),
      restarted_(backend.home_),
      tasks_(backend.home_) {}

ExternalProcess::~ExternalProcess() {
  *self_ = nullptr;
  remove_socket();
}

async::Task<Result<>> ExternalProcess::load(Hooks hooks) {
  reports_ = RequestReports::make(backend_.home_, std::move(hooks.request_done));
  Result<> loaded;
  for (int attempt = 0; attempt < kPorts; ++attempt) {
    bool taken = false;
    loaded = co_await start(taken);
    if (loaded) {
      is_ready_ = true;
      tasks_.spawn("measure memory", measure());
      co_return loaded;
    }
    if (child_) {
      const auto status = co_await child_->stop(Millis(0));
      if (loaded.error().code == errc::load_crashed) loaded = std::unexpected(crash(status));
    }
    remove_socket();
    if (!taken) co_return loaded;
    log::info("backends", "another program took port {}: {} is started on another port", port_, model_->name.value());
  }
  co_return loaded;
}

async::Task<Result<>> ExternalProcess::start(bool& taken) {
  const auto number = backend_.last_number_ + 1;
  values_ = backend_.values_for(*model_, *descriptor_, options_);
  http::Endpoint endpoint;
  std::string base;
  if (descriptor_->listen == Listen::socket) {
    socket_ = backend_.options_.runtime_dir / fmt::format("external-{}.sock", number);
    values_.texts["socket"] = socket_.native();
    endpoint = http::UnixEndpoint{socket_};
  } else {
    const auto fixed = chooses_port(*descriptor_) ? std::nullopt : parse_address(descriptor_->url);
    port_ = fixed ? fixed->port : free_port();
    if (const auto address = parse_address(url_at(*descriptor_, port_))) base = address->base;
    if (port_ == 0) co_return fail(errc::load_failed, "this machine has no free port");
    values_.texts["port"] = std::to_string(port_);
    values_.texts["other_port"] = std::to_string(free_port());
    endpoint = http::TcpEndpoint{"127.0.0.1", port_};
  }
  auto spawning = spawn();
  if (auto spawned = co_await std::move(spawning); !spawned) co_return spawned;
  auto words = backend_.words_for(*model_, descriptor_, values_, reports_);
  words->base = base;
  requests_ = words->requests;
  if (descriptor_->cancel == Cancel::restart) {
    requests_->on_abandoned([home = backend_.home_, self = self_](RequestGate::Place place) {
      auto kept = std::make_shared<RequestGate::Place>(std::move(place));
      async::asio::post(home, [self, kept] {
        if (*self != nullptr) (*self)->restart(std::move(*kept));
      });
    });
  }
  targets_.emplace(backend_.timers_, std::move(words), std::move(endpoint));
  co_return co_await until_ready(taken);
}

// Starts the process at the address in `values_`.
async::Task<Result<>> ExternalProcess::spawn() {
  auto argv = expand(descriptor_->command, values_);
  if (!argv) co_return std::unexpected(argv.error());
  argv_ = *argv;
  if (argv_.empty()) co_return fail(errc::backend_not_installed, "the command is empty");
  auto spec = backend_.spec_of(*descriptor_, argv_, values_);
  argv_ = spec.argv;
  if (!backend_.options_.log_dir.empty()) {
    spec.log_file = backend_.options_.log_dir / (spec.name + ".log");
    spec.log_file_bytes = kExternalLog;
    spec.log_begins = true;
    if (backend_.options_.files.offload)
      backend_.options_.files.offload(
          [dir = backend_.options_.log_dir] { proc::keep_newest_logs(dir, kMaxExternalLogs); });
  }
  const auto log_file = spec.log_file;
  auto child = co_await backend_.spawner_.spawn(std::move(spec));
  if (!child) {
    const auto& cause = child.error();
    const bool missing = cause.code == proc::errc::program_not_found || cause.code == proc::errc::permission_denied;
    co_return fail(missing ? errc::backend_not_installed : errc::load_failed,
                   fmt::format("the backend '{}' cannot be started: {}", descriptor_->recipe, cause.message));
  }
  child_ = std::move(*child);
  log_file_ = log_file;
  co_return Result<>();
}

void ExternalProcess::restart(RequestGate::Place place) {
  if (!is_ready_ || restarting_ || !child_->alive()) return;
  log::info("backends",
            "the client of a request to {} has left: its program is started again, because it would continue",
            model_->name.value());
  restarting_ = true;
  restarted_.reset();
  requests_->set_restarting(true);
  tasks_.spawn("restart", run_again(std::move(place)));
}

async::Task<void> ExternalProcess::run_again(RequestGate::Place place) {
  auto stopping = child_->stop(Millis(0));
  (void)co_await std::move(stopping);
  remove_socket();
  auto spawning = spawn();
  auto again = co_await std::move(spawning);
  if (again) {
    bool taken = false;
    auto starting = until_ready(taken);
    again = co_await std::move(starting);
  }
  if (!again) {
    log::warning("backends", "{} was not started again: {}", model_->name.value(), again.error().message);
    auto ending = child_->stop(Millis(0));
    (void)co_await std::move(ending);
  }
  restarting_ = false;
  requests_->set_restarting(false);
  restarted_.set();
  place.give_back();
}

async::Task<Result<>> ExternalProcess::until_ready(bool& taken) {
  const Millis deadline =
      descriptor_->ready.deadline > Millis(0) ? descriptor_->ready.deadline : usual_load_deadline(model_->size);
  const auto seen = std::make_shared<std::string>("no process listens there");
  // The first of: ready, process ended, deadline.
  struct Ended {
    static async::Task<void> of(proc::Child* child) { (void)co_await child->wait(); }
  };
  auto polling = poll(seen);
  auto racing = async::race(std::move(polling), Ended::of(child_.get()));
  const auto outcome = co_await async::with_timeout(backend_.timers_, deadline, std::move(racing));
  if (outcome && *outcome) co_return **outcome;
  if (outcome) {
    // If another program took the port meanwhile, the model is not at fault.
    if (port_ != 0 && chooses_port(*descriptor_)) {
      const auto owner = co_await port_owner();
      taken = owner == PortOwner::another || owner == PortOwner::hidden;
    }
    co_return fail(errc::load_crashed, "it ended");
  }
  std::string where = descriptor_->listen == Listen::socket ? "its socket" : fmt::format("port {}", port_);
  std::string others;
  if (descriptor_->listen == Listen::port) {
    const auto pid = child_->pid();
    auto look = [pid] { return ports_of(pid); };
    const auto ports = co_await off_loop(backend_.options_.threads, std::move(look));
    if (!ports.empty() && std::ranges::find(ports, port_) == ports.end())
      others = fmt::format("; it listens on port {} instead: its command must use {{port}}", fmt::join(ports, ", "));
  }
  co_return fail(errc::load_failed,
                 fmt::format("the backend '{}' of '{}' was not ready on {} within {} s: {}{}", descriptor_->recipe,
                             model_->name.value(), where,
                             std::chrono::duration_cast<std::chrono::seconds>(deadline).count(), *seen, others));
}

// Returns when it is ready. Ignores another program on its port.
async::Task<Result<>> ExternalProcess::poll(std::shared_ptr<std::string> seen) {
  const auto& ready = descriptor_->ready;
  listens_ = false;
  bool ours = descriptor_->listen == Listen::socket;
  for (Millis pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    co_await backend_.timers_.sleep_for(pause);
    std::error_code ignored;
    if (descriptor_->listen == Listen::socket && !std::filesystem::exists(socket_, ignored)) continue;
    if (!ours) {
      const auto owner = co_await port_owner();
      if (owner == PortOwner::none) continue;
      // A system program holds the port of a container.
      if (owner == PortOwner::another || (owner == PortOwner::hidden && descriptor_->url.empty())) {
        *seen = fmt::format("another program listens on port {}", port_);
        continue;
      }
      ours = true;
    }
    listens_ = true;
    if (ready.path.empty()) co_return Result<>();
    auto probing = probe(backend_.timers_, targets_->probe(backend_.home_));
    const auto probed = co_await std::move(probing);
    if (!probed.status) {
      *seen = fmt::format("GET {} {}", ready.path, probed.silent ? "got no response" : "was cut off");
      continue;
    }
    ++answers_;
    if (*probed.status == ready.status) co_return Result<>();
    *seen = fmt::format("GET {} returned {}, not {}", ready.path, *probed.status, ready.status);
  }
}

async::Task<PortOwner> ExternalProcess::port_owner() {
  auto look = [ask = backend_.options_.port_owner, port = port_, pid = child_->pid()] { return ask(port, pid); };
  co_return co_await off_loop(backend_.options_.threads, std::move(look));
}

// Its memory need shows only while it works, so it is measured repeatedly, at growing intervals.
async::Task<void> ExternalProcess::measure() {
  if (backend_.options_.measured == nullptr) co_return;
  const auto key = backend_.memory_key(*model_, options_);
  for (Millis pause = kFirstMeasure;; pause = std::min(pause * 2, kLongestMeasure)) {
    auto look = [pid = child_->pid(), gpu_bytes = backend_.options_.gpu_bytes] {
      Measured seen{.host = device::family_bytes(pid), .gpu = 0};
      if (gpu_bytes) seen.gpu = gpu_bytes(device::process_family(pid));
      return seen;
    };
    const auto seen = co_await off_loop(backend_.options_.threads, std::move(look));
    backend_.options_.measured->note(key, seen);
    co_await backend_.timers_.sleep_for(pause);
  }
}

async::Task<void> ExternalProcess::run_stop_command(Millis grace) {
  auto values = values_;
  values.texts["pid"] = std::to_string(child_->pid());
  auto argv = expand(descriptor_->stop, values);
  if (!argv || argv->empty()) co_return;
  auto spec = backend_.spec_of(*descriptor_, std::move(*argv), values);
  spec.name = fmt::format("stop of {}", child_->name());
  auto command = co_await backend_.spawner_.spawn(std::move(spec));
  if (!command) {
    log::warning("backends", "the stop command of {} cannot be started: {}", child_->name(), command.error().message);
    co_return;
  }
  auto ending = child_->wait();
  const auto ended = co_await async::with_timeout(backend_.timers_, grace, std::move(ending));
  if (!ended) log::warning("backends", "{} still runs after its stop command", child_->name());
}

async::Task<void> ExternalProcess::stop(Millis grace) {
  is_ready_ = false;
  tasks_.cancel();
  co_await tasks_.join();
  // A restart that was cancelled has ended, too.
  restarting_ = false;
  restarted_.set();
  if (!child_) co_return;
  if (!descriptor_->stop.empty() && grace > Millis(0) && child_->alive()) {
    co_await run_stop_command(grace);
    grace = Millis(0);
  }
  if (child_->alive()) co_await child_->stop(grace);
  end();
}

async::Task<std::string> ExternalProcess::wait_for_exit() {
  std::string how;
  for (bool ended = false; !ended;) {
    const auto child = child_;
    const auto status = co_await child->wait();
    how = status.describe();
    if (restarting_) co_await restarted_.wait();
    ended = child == child_;
  }
  is_ready_ = false;
  end();
  tasks_.cancel();
  co_await tasks_.join();
  co_return how;
}

void ExternalProcess::end() {
  // Its connections may be held by something that isn't its child, such as a container.
  if (targets_) targets_->give_up();
  reports_->close();
  remove_socket();
}

ServerFacts ExternalProcess::facts() const {
  ServerFacts facts;
  if (!child_) return facts;
  facts.pid = child_->pid();
  facts.launch_command = argv_;
  facts.backend_url =
      descriptor_->listen == Listen::socket ? "unix:" + socket_.native() : fmt::format("http://127.0.0.1:{}", port_);
  facts.context_window = backend_.context(*model_, options_, 0);
  facts.memory_bytes = device::tree_memory(facts.pid).resident;
  facts.predicted = backend_.known_estimate(*model_, options_);
  return facts;
}

std::uint64_t ExternalProcess::work() const {
  if (!child_) return 0;
  // A program that can't be queried counts as busy. Before it listens, only its deadline ends its load.
  if (!descriptor_->watch || !listens_)
    return static_cast<std::uint64_t>(backend_.timers_.now().time_since_epoch().count());
  return device::family_work(child_->pid()) + answers_;
}

Error ExternalProcess::crash(const proc::ExitStatus& status) const {
  auto text = fmt::format("the backend '{}' ended while it loaded '{}': {}", descriptor_->recipe, model_->name.value(),
                          status.describe());
  const auto output = child_->log().text(kLastOutput);
  if (!output.empty()) text += "; its last output: " + output;
  return Error(make_error_code(errc::load_crashed), std::move(text));
}

void ExternalProcess::remove_socket() const {
  std::error_code ignored;
  if (!socket_.empty()) std::filesystem::remove(socket_, ignored);
}

// ---- attached servers

AttachedServer::AttachedServer(ExternalBackend& backend, ModelPtr model, DescriptorPtr descriptor, LoadOptions options)
    : backend_(backend),
      model_(std::move(model)),
      descriptor_(std::move(descriptor)),
      options_(std::move(options)),
      let_go_(backend.home_) {}

async::Task<Result<>> AttachedServer::load(Hooks hooks) {
  reports_ = RequestReports::make(backend_.home_, std::move(hooks.request_done));
  const auto address = parse_address(descriptor_->url);
  if (!address)
    co_return fail(errc::invalid_option,
                   fmt::format("'{}' is not an address such as http://127.0.0.1:11434", descriptor_->url));
  const auto values = backend_.values_for(*model_, *descriptor_, options_);
  auto words = backend_.words_for(*model_, descriptor_, values, reports_);
  words->base = address->base;
  targets_.emplace(backend_.timers_, std::move(words), http::TcpEndpoint{address->host, address->port});
  if (descriptor_->ready.path.empty()) co_return Result<>();
  auto probing = probe(backend_.timers_, targets_->probe(backend_.home_));
  const auto probed = co_await std::move(probing);
  if (probed.status == descriptor_->ready.status) co_return Result<>();
  const std::string how = probed.status ? fmt::format("returned {} to GET {}", *probed.status, descriptor_->ready.path)
                          : probed.silent ? "does not respond"
                                          : "is not reachable";
  // No second attempt and no eviction can help.
  co_return fail(external::errc::not_reachable, fmt::format("'{}' is served by {}, which {}: start it first",
                                                            model_->name.value(), descriptor_->url, how));
}

async::Task<void> AttachedServer::stop(Millis) {
  if (targets_) targets_->give_up();
  if (reports_) reports_->close();
  let_go_.set();
  co_return;
}

async::Task<std::string> AttachedServer::wait_for_exit() {
  co_await let_go_.wait();
  co_return "it was detached";
}

ServerFacts AttachedServer::facts() const {
  ServerFacts facts;
  facts.backend_url = descriptor_->url;
  facts.context_window = backend_.context(*model_, options_, 0);
  facts.device = Device::none;
  return facts;
}

}  // namespace corral::backends
