#include "app/engine_process.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "app/version.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/engine_protocol.h"
#include "base/log.h"
#include "engine/backends.h"
#include "engine/llama_service.h"
#include "engine_server/engine_server.h"
#include "http/server.h"
#include "proc/control_channel.h"
#include "proc/exec_mode.h"

namespace corral::app {
namespace {

constexpr std::uint64_t kNoLimit = ~0ull;

backends::errc cause_of(const Error& error) {
  if (error.param == "draft_model" && error.code != engine::errc::out_of_memory) return backends::errc::invalid_option;
  if (error.code == engine::errc::file_not_found) return backends::errc::model_file_not_found;
  if (error.code == engine::errc::out_of_memory) return backends::errc::load_out_of_memory;
  if (error.code == engine::errc::invalid_argument) return backends::errc::invalid_option;
  return backends::errc::load_failed;
}

engine::LoadOptions engine_options(const backends::EngineLoad& load) {
  engine::LoadOptions options;
  options.path = load.path;
  if (load.options.ctx_size.value_or(-1) > 0) options.n_ctx = static_cast<std::uint32_t>(*load.options.ctx_size);
  if (load.options.parallel.value_or(0) > 0) options.max_sequences = static_cast<std::uint32_t>(*load.options.parallel);
  options.n_threads = static_cast<std::int32_t>(load.options.threads.value_or(0));
  options.n_gpu_layers = static_cast<std::int32_t>(load.options.gpu_layers.value_or(-1));
  options.speculative.max_tokens = static_cast<std::uint32_t>(load.options.speculative.value_or(0));
  options.speculative.draft_path = load.options.draft_model.value_or("");
  return options;
}

struct EngineArguments {
  std::string socket;
  std::optional<std::uint16_t> tcp_port;  // on loopback too, for benchmarks: load generators know no Unix sockets
};

std::optional<EngineArguments> parse_arguments(std::span<char*> words) {
  EngineArguments arguments;
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

// One engine's life: everything on its loop, but loading, which blocks a thread of its own.
class EngineChild {
 public:
  EngineChild(EngineArguments arguments, std::unique_ptr<proc::ControlChannel> (*open)(async::Executor))
      : arguments_(std::move(arguments)),
        control_(open(loops_.home().executor())),
        offload_(2),
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
    // Before the load line comes: a spare child does this while it waits.
    auto find_backends = [] { return engine::load_backends(); };
    const auto ready = co_await offload_.run(find_backends);
    const auto line = co_await control_->read_line();
    if (!line) co_return true;  // the parent has gone, or wants no spare any more
    const auto load = backends::parse_engine_load(*line);
    if (!ready) co_return co_await give_up(ready.error());
    if (!load) co_return co_await give_up(load.error());

    auto service = co_await load_model(*load);
    if (!service) co_return co_await give_up(service.error());
    engine_server::EngineServerOptions options;
    options.model_name = load->model;
    options.fingerprint = fmt::format("corral-{}-llama.cpp-{}", kVersion, engine::running_llama_version());
    options.request_done = [this](const engine_server::RequestRecord& record) { report(record); };
    // The router has its own limit and sends nothing above it.
    options.max_body_bytes = kNoLimit;
    http::ServerOptions server_options;
    server_options.max_body_bytes = kNoLimit;
    engine_server::EngineServer handler(**service, timers_, offload_, std::move(options));
    http::Server server(loops_, handler, server_options);
    const auto listening = server.listen_unix(arguments_.socket);
    if (!listening) co_return co_await give_up(listening.error());
    if (arguments_.tcp_port) {
      const auto tcp = server.listen_tcp("127.0.0.1", *arguments_.tcp_port);
      if (!tcp) co_return co_await give_up(tcp.error());
    }
    co_await tell(backends::EngineReady{(*service)->facts().n_ctx});
    co_await control_->until_peer_gone();
    co_return true;
  }

  async::Task<Result<std::unique_ptr<engine::LlamaService>>> load_model(const backends::EngineLoad& load) {
    auto progress = [this](float fraction) {
      loops_.home().post([this, fraction] { tasks_.spawn("progress", tell(backends::EngineProgress{fraction})); });
      return true;
    };
    auto job = [options = engine_options(load), progress] { return engine::LlamaService::load(options, progress); };
    co_return co_await offload_.run(std::move(job));
  }

  void report(const engine_server::RequestRecord& record) {
    const double rate = record.output_ms > 0 ? static_cast<double>(record.output_tokens) * 1000 / record.output_ms : 0;
    tasks_.spawn("report", tell(backends::RequestStats{record.input_tokens, record.output_tokens, record.cached_tokens,
                                                       record.first_token_ms / 1000, rate}));
  }

  async::Task<void> tell(backends::EngineEvent event) {
    auto line = backends::to_line(event);
    co_await control_->write_line(std::move(line));
  }

  async::Task<bool> give_up(Error error) {
    log::error("engine", "{}", error.message);
    co_await tell(backends::EngineFailed{cause_of(error), error.message});
    co_return false;
  }

  const EngineArguments arguments_;
  async::LoopPool loops_{1};
  async::SystemTimers timers_;
  std::unique_ptr<proc::ControlChannel> control_;
  async::ThreadPool offload_;
  async::TaskGroup tasks_;
  int exit_code_ = 0;
};

}  // namespace

int engine_process(int argc, char** argv) {
  if (!proc::bind_to_parent_from_environment()) return 0;
  auto arguments = parse_arguments({argv, static_cast<std::size_t>(argc)});
  if (!arguments) {
    std::fputs("usage: corral engine --socket PATH [--listen-tcp PORT] (started by corral serve)\n", stderr);
    return 2;
  }
  EngineChild child(std::move(*arguments), proc::ControlChannel::from_environment);
  return child.run();
}

}  // namespace corral::app
