#include "app/engine_process.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include <boost/asio/basic_signal_set.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "app/request_reports.h"
#include "app/version.h"
#include "async/event.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/engine_leftovers.h"
#include "backends/engine_protocol.h"
#include "base/log.h"
#include "config/load/load_options.h"
#include "engine/fit/gpu_fit.h"
#include "engine/llama/backends.h"
#include "engine/service/inference_engine.h"
#include "engine_server/engine_server.h"
#include "http/server.h"
#include "proc/control_channel.h"
#include "proc/exec_mode.h"
#include "proc/stderr_filter.h"

namespace corral::app {
namespace {

constexpr std::uint64_t kNoLimit = ~0ull;

// The router's error causes for those of the engine. Causes that no eviction can help have their own code.
constexpr std::pair<engine::errc, backends::errc> kCauses[] = {
    {engine::errc::file_not_found, backends::errc::model_file_not_found},
    {engine::errc::out_of_memory, backends::errc::load_out_of_memory},
    {engine::errc::never_fits, backends::errc::load_never_fits},
    {engine::errc::invalid_argument, backends::errc::invalid_option},
    {engine::errc::invalid_worker_count, backends::errc::invalid_option},
    {engine::errc::unsupported, backends::errc::invalid_option},
    {engine::errc::backend_not_installed, backends::errc::backend_not_installed},
};

backends::EngineFailed failure(const Error& error) {
  backends::EngineFailed failed{backends::errc::load_failed, error.message, error.param, error.memory};
  for (const auto& [ours, theirs] : kCauses) {
    if (error.code == ours) failed.cause = theirs;
  }
  // A missing or invalid adapter or draft model isn't a problem of the model's file.
  const bool no_model =
      failed.cause == backends::errc::model_file_not_found || failed.cause == backends::errc::load_failed;
  if (no_model && (error.param == "lora" || error.param == "draft_model" || error.param == "mmproj"))
    failed.cause = backends::errc::invalid_option;
  // The public names of the options.
  if (failed.param == "n_ctx") failed.param = "ctx_size";
  if (failed.param == "backend") failed.param = "llamacpp_backend";
  if (failed.param == "path" || failed.param == "purpose") failed.param = "model";
  return failed;
}

// The configured type overrides the file: a chat model may be used for embeddings.
engine::ModelTask purpose_of(ModelType type) {
  if (type == ModelType::embedding) return engine::ModelTask::embed;
  if (type == ModelType::reranking) return engine::ModelTask::rerank;
  return engine::ModelTask::automatic;
}

engine::EngineLoadOptions engine_options(const backends::EngineLoad& load) {
  engine::EngineLoadOptions options;
  options.path = load.path;
  options.purpose = purpose_of(load.type);
  if (load.options.ctx_size.value_or(-1) > 0) options.n_ctx = static_cast<std::uint32_t>(*load.options.ctx_size);
  if (load.options.kv_unified == false)
    options.n_ctx_session = static_cast<std::uint32_t>(backends::context_of_request(load.options));
  if (load.options.parallel.value_or(0) > 0) options.max_sequences = static_cast<std::uint32_t>(*load.options.parallel);
  // A text to embed must fit into one pass. Each running request needs a token of a pass.
  if (load.options.batch_size && options.purpose == engine::ModelTask::automatic)
    options.n_batch = std::max(static_cast<std::uint32_t>(*load.options.batch_size), options.max_sequences);
  if (load.options.workers.value_or(0) > 0) options.workers = static_cast<std::uint32_t>(*load.options.workers);
  options.n_threads = static_cast<std::int32_t>(load.options.threads.value_or(0));
  options.n_gpu_layers = static_cast<std::int32_t>(load.options.gpu_layers.value_or(-1));
  if (const auto backend = load.options.llamacpp_backend.value_or("auto"); backend != "auto") options.backend = backend;
  options.devices = load.options.devices.value_or(std::vector<std::string>());
  if (load.options.split_mode == "none") options.split_mode = engine::SplitMode::none;
  if (load.options.split_mode == "row") options.split_mode = engine::SplitMode::row;
  // Invalid values were rejected before the load line was sent.
  options.tensor_split =
      config::parse_tensor_split(load.options.tensor_split.value_or("")).value_or(std::vector<float>());
  options.main_gpu = static_cast<std::int32_t>(load.options.main_gpu.value_or(0));
  if (load.options.swa_full) options.swa_full = *load.options.swa_full ? engine::Toggle::on : engine::Toggle::off;
  constexpr std::pair<std::string_view, engine::Pooling> kPoolings[] = {{"none", engine::Pooling::none},
                                                                        {"mean", engine::Pooling::mean},
                                                                        {"cls", engine::Pooling::cls},
                                                                        {"last", engine::Pooling::last}};
  for (const auto& [word, pooling] : kPoolings) {
    if (load.options.pooling == word) options.pooling = pooling;
  }
  for (const std::string& adapter : load.options.lora.value_or(std::vector<std::string>())) {
    const auto [path, scale] = backends::parse_lora(adapter);
    options.loras.push_back({path.native(), scale});
  }
  options.speculative.max_tokens = static_cast<std::uint32_t>(load.options.speculative.value_or(0));
  options.speculative.draft_path = load.options.draft_model.value_or("");
  if (load.options.flash_attention == "on") options.flash_attention = engine::Toggle::on;
  if (load.options.flash_attention == "off") options.flash_attention = engine::Toggle::off;
  options.cache_type_k = load.options.cache_type_k.value_or(options.cache_type_k);
  options.cache_type_v = load.options.cache_type_v.value_or(options.cache_type_v);
  if (load.options.mmap) options.mmap = *load.options.mmap ? engine::Toggle::on : engine::Toggle::off;
  options.mlock = load.options.mlock.value_or(false);
  if (load.options.park_bytes.value_or(-1) >= 0)
    options.park_bytes = static_cast<std::uint64_t>(*load.options.park_bytes);
  options.park_dir = load.options.park_dir.value_or("");
  for (const auto& part : load.remotes)
    options.remotes.push_back({part.name, part.endpoint, static_cast<float>(part.share)});
  options.own_share = static_cast<float>(load.own_share);
  options.mmproj = load.mmproj;
  options.mmproj_offload = load.mmproj_offload;
  return options;
}

// What llama.cpp prints when it rejects a grammar, a schema or a pattern; the client's text follows and is cut.
constexpr std::string_view kPrintsOfClients[] = {"parse: error parsing grammar",
                                                 "WARNING: JSON schema conversion was incomplete",
                                                 "Failed to process regex", "Regex error"};

struct EngineArguments {
  std::string socket;
  std::optional<std::uint16_t>
      tcp_port;           // also on loopback, for benchmarks: load generators don't support Unix sockets
  bool estimate = false;  // predicts the memory of the load instead of loading
};

std::optional<EngineArguments> parse_arguments(std::span<char*> words) {
  EngineArguments arguments;
  if (words.size() == 3 && words[2] == std::string_view("--estimate")) {
    arguments.estimate = true;
    return arguments;
  }
  for (std::size_t at = 2; at + 1 < words.size(); at += 2) {
    const std::string_view name = words[at], value = words[at + 1];
    if (name == "--socket") {
      arguments.socket = value;
    } else if (name == "--listen-tcp") {
      const auto* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, arguments.tcp_port.emplace());
      if (error != std::errc() || stop != end) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (words.size() % 2 != 0 || arguments.socket.empty()) return std::nullopt;
  return arguments;
}

// The engine process: everything runs on its loop, except for loading, which blocks a separate thread.
class EngineChild {
 public:
  EngineChild(EngineArguments arguments, std::unique_ptr<proc::ControlChannel> (*open)(async::Executor))
      : arguments_(std::move(arguments)),
        control_(open(loops_.home().executor())),
        offload_(2),
        parent_gone_(loops_.home().executor()),
        signals_(loops_.home().executor()),
        tasks_(loops_.home().executor()) {}

  int run() {
    if (!control_) {
      std::fputs("corral engine is started by corral serve\n", stderr);
      return 2;
    }
    tasks_.spawn("engine", live());
    loops_.run();
    return exit_code_;
  }

 private:
  async::Task<void> live() {
    exit_code_ = co_await serve() ? 0 : 1;
    loops_.stop();
  }

  async::Task<bool> serve() {
    // Before the load line comes: a warm spare does this while it waits.
    auto find_backends = [] { return engine::load_backends(); };
    const auto ready = co_await offload_.run(find_backends);
    const auto line = co_await control_->read_line();
    if (!line) co_return true;  // the parent has ended, or no longer wants a spare
    const auto load = backends::parse_engine_load(*line);
    if (!ready) co_return co_await give_up(ready.error());
    if (!load) co_return co_await give_up(load.error());

    tasks_.spawn("watch parent", watch_parent());
    if (arguments_.estimate) co_return co_await estimate(*load);
    auto loaded = co_await load_model(*load);
    if (!loaded) co_return co_await give_up(loaded.error());
    const std::shared_ptr<engine::InferenceEngine> service = std::move(*loaded);
    engine_server::EngineServerOptions options;
    options.model_name = load->model;
    options.chat_template = load->options.chat_template.value_or("");
    // Clients of llama-server expect the "b" of its build number.
    options.fingerprint = fmt::format("b{}-corral-{}", engine::running_llama_version(), kVersion);
    const auto& facts = service->facts();
    options.max_answers = facts.workers * (facts.max_sequences + engine::EngineLoadOptions().max_queue);
    options.request_done = [this](const engine_server::RequestRecord& record) { report(record); };
    options.prepared = [this](const RequestId& id) { post({id.value(), backends::EngineRequest::State::prepared}); };
    // The router has its own limit and sends nothing above it.
    options.max_body_bytes = kNoLimit;
    http::ServerOptions server_options;
    server_options.max_body_bytes = kNoLimit;
    server_options.max_bodies_bytes = 0;
    // Its clients are the router's loops, which limit slow clients themselves and set request ids.
    server_options.head_timeout = server_options.idle_timeout;
    server_options.body_pace = http::kNoMinRate;
    server_options.answer_pace = http::kNoMinRate;
    server_options.take_request_ids = true;
    server_options.threads = &offload_;
    engine_server::EngineServer handler(*service, timers_, offload_, std::move(options));
    RequestReports reports(handler,
                           {.write = [this](backends::EngineRequest request) { return send(std::move(request)); },
                            .post = [this](backends::EngineRequest request) { post(std::move(request)); }});
    http::Server server(loops_, reports, server_options);
    const auto listening = server.listen_unix(arguments_.socket);
    if (!listening) co_return co_await give_up(listening.error());
    if (arguments_.tcp_port) {
      const auto tcp = server.listen_tcp("127.0.0.1", *arguments_.tcp_port);
      if (!tcp) co_return co_await give_up(tcp.error());
    }
    engine_ = service;
    signals_.add(SIGTERM);
    const Device device = service->facts().gpus > 0 ? Device::gpu : Device::cpu;
    co_await send(backends::EngineReady{service->facts().n_ctx, engine::cpu_backend_file(), device, true});
    tasks_.spawn("watch signals", watch_signals());
    co_await parent_gone_.wait();
    engine_ = nullptr;
    co_await server.stop(Millis(0));
    co_return true;
  }

  async::Task<void> watch_parent() {
    while (const auto line = co_await control_->read_line()) {
      if (backends::is_downsize(*line)) co_await downsize();
    }
    unwanted_ = true;
    parent_gone_.set();
  }

  // On SIGTERM a loaded engine parks its conversations before it ends.
  async::Task<void> watch_signals() {
    (void)co_await signals_.async_wait(async::asio::as_tuple(async::asio::use_awaitable_t<async::Executor>()));
    parent_gone_.set();
  }

  async::Task<void> downsize() {
    backends::EngineDownsized answer;
    if (engine_ != nullptr) {
      // Waits for the running step.
      auto job = [engine = engine_] { return engine->downsize(); };
      const engine::DownsizeReport report = co_await offload_.run(std::move(job));
      answer = {report.done, report.sessions, report.parked_bytes};
    }
    co_await send(answer);
  }

  async::Task<Result<std::unique_ptr<engine::InferenceEngine>>> load_model(const backends::EngineLoad& load) {
    // Called for every tensor; a hundred lines are enough.
    auto progress = [this, reported = -1.0f](float fraction) mutable {
      if (fraction >= reported + 0.01f || fraction >= 1) {
        reported = fraction;
        loops_.home().post([this, fraction] { tasks_.spawn("progress", send(backends::EngineProgress{fraction})); });
      }
      return !unwanted_;
    };
    auto job = [options = engine_options(load), progress, empty = load.without_weights] {
      return empty ? engine::InferenceEngine::load_without_weights(options)
                   : engine::InferenceEngine::load(options, progress);
    };
    co_return co_await offload_.run(std::move(job));
  }

  async::Task<bool> estimate(const backends::EngineLoad& load) {
    auto job = [options = engine_options(load)] { return engine::estimate_fitted(options); };
    auto estimated = co_await offload_.run(std::move(job));
    if (!estimated) co_return co_await give_up(estimated.error());
    co_await send(std::move(*estimated));
    co_return true;
  }

  void report(const engine_server::RequestRecord& record) {
    const double rate = record.output_ms > 0 ? static_cast<double>(record.output_steps) * 1000 / record.output_ms : 0;
    tasks_.spawn("report", send(backends::RequestStats{record.input_tokens, record.output_tokens, record.cached_tokens,
                                                       record.first_token_ms / 1000, rate}));
  }

  void post(backends::EngineRequest request) {
    loops_.home().post(
        [this, request = std::move(request)]() mutable { tasks_.spawn("request", send(std::move(request))); });
  }

  async::Task<void> send(backends::EngineEvent event) {
    auto line = backends::to_line(event);
    co_await control_->write_line(std::move(line));
  }

  async::Task<bool> give_up(Error error) {
    log::error("engine", "{}", error.message);
    co_await send(failure(error));
    co_return false;
  }

  const EngineArguments arguments_;
  async::LoopPool loops_{1};
  async::SystemTimers timers_;
  std::unique_ptr<proc::ControlChannel> control_;
  async::ThreadPool offload_;
  std::atomic<bool> unwanted_ = false;  // stops a load after its last waiter has left
  async::Event parent_gone_;
  async::asio::basic_signal_set<async::Executor> signals_;
  std::shared_ptr<engine::InferenceEngine> engine_;  // loaded and serving
  async::TaskGroup tasks_;
  int exit_code_ = 0;
};

}  // namespace

int engine_process(int argc, char** argv) {
  if (!proc::bind_to_parent_from_environment()) return 0;
  proc::cut_stderr_behind(kPrintsOfClients);
  auto arguments = parse_arguments({argv, static_cast<std::size_t>(argc)});
  if (!arguments) {
    std::fputs("usage: corral engine --socket PATH [--listen-tcp PORT] | --estimate (started by corral serve)\n",
               stderr);
    return 2;
  }
  // Writes to a closed parent or client return an error instead.
  std::signal(SIGPIPE, SIG_IGN);
  // CUDA's default order starts with the fastest GPU. The memory monitor uses NVML's order, and both must agree on the
  // GPU of a load.
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  // Left by a process with the same id, whose owner was killed as well.
  proc::remove_leftovers(backends::engine_leftovers(), ::getpid());
  EngineChild child(std::move(*arguments), proc::ControlChannel::from_environment);
  return child.run();
}

}  // namespace corral::app
