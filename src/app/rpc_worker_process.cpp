#include "app/rpc_worker_process.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/basic_signal_set.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/log.h"
#include "engine/llama/backends.h"
#include "engine/llama/devices.h"
#include "proc/control_channel.h"
#include "proc/exec_mode.h"
#include "proc/sandbox.h"
#include "remote/device_server.h"
#include "remote/relay.h"
#include "remote/worker_protocol.h"

namespace corral::app {
namespace {

struct Arguments {
  std::string socket;
  std::uint64_t memory = 0;      // granted to its host; 0: no limit
  std::uint64_t cache_file = 0;  // limit of bytes of a file in the cache; 0: no limit
  remote::DeviceServerOptions server = {};
};

bool read_number(std::string_view text, auto& number) {
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number != 0;
}

std::optional<Arguments> parse_arguments(std::span<char*> words) {
  Arguments arguments;
  for (std::size_t at = 2; at + 1 < words.size(); at += 2) {
    const std::string_view name = words[at], value = words[at + 1];
    if (name == "--socket") {
      arguments.socket = value;
    } else if (name == "--cache") {
      arguments.server.cache = value;
    } else if (name == "--cache-file") {
      if (!read_number(value, arguments.cache_file)) return std::nullopt;
    } else if (name == "--devices") {
      for (const auto device : std::views::split(value, ','))
        arguments.server.devices.emplace_back(std::string_view(device));
    } else if (name == "--threads") {
      if (!read_number(value, arguments.server.threads)) return std::nullopt;
    } else if (name == "--memory") {
      if (!read_number(value, arguments.memory)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (words.size() % 2 != 0 || arguments.socket.empty()) return std::nullopt;
  return arguments;
}

// Created before the sandbox is entered; `open` lists missing sandbox features.
struct Ready {
  UniqueFd listener;
  std::vector<std::string> open;
};

// A load opens about fourteen connections with three descriptors each, one after another.
constexpr unsigned kDescriptors = 256;
// llama.cpp starts some for each pass; a service may have thousands.
constexpr unsigned kThreads = 512;
// Address space for the worker itself: stacks of threads, and tensors in transit.
constexpr std::uint64_t kOwnMemory = std::uint64_t{2} << 30;

// The limit protects the owner's memory. GPU drivers reserve address space without limit, and it doesn't include GPU
// memory.
std::uint64_t memory_limit(const Arguments& arguments) {
  const auto gpus = engine::choose_gpus(engine::found_devices(), "", arguments.server.devices);
  const bool on_cpu = gpus && gpus->empty();
  return arguments.memory == 0 || !on_cpu ? 0 : arguments.memory + arguments.memory / 8 + kOwnMemory;
}

Result<Ready> lock_in(const Arguments& arguments) {
  auto listener = remote::listen_at(arguments.socket);
  if (!listener) return std::unexpected(listener.error());
  // Before the sandbox prevents opening libraries and devices.
  if (auto found = engine::load_backends(); !found) return std::unexpected(found.error());
  proc::SandboxOptions options{.work = proc::Work::talking,
                               .memory = memory_limit(arguments),
                               .descriptors = kDescriptors,
                               .file_bytes = arguments.cache_file,
                               .threads = kThreads + 2 * static_cast<unsigned>(arguments.server.threads),
                               .own_processes = true};
  if (!arguments.server.cache.empty()) options.writable.push_back(arguments.server.cache);
  auto fences = proc::enter_sandbox(options);
  if (!fences) return std::unexpected(fences.error());
  Ready ready{.listener = std::move(*listener), .open = {}};
  for (const auto& missing : fences->missing)
    ready.open.push_back(fmt::format("{}: {}", proc::name_of(missing.fence), missing.why));
  return ready;
}

class Worker {
 public:
  Worker(Arguments arguments, Result<Ready> ready)
      : arguments_(std::move(arguments)),
        ready_(std::move(ready)),
        control_(proc::ControlChannel::from_environment(loop_.executor())),
        signals_(loop_.executor()),
        tasks_(loop_.executor()) {}

  int run() {
    if (!control_) {
      std::fputs("corral rpc-worker is started by corral serve\n", stderr);
      return 2;
    }
    signals_.add(SIGTERM);
    tasks_.spawn("signals", watch_signals());
    tasks_.spawn("parent", watch_parent());
    tasks_.spawn("worker", serve());
    loop_.run();
    return exit_code_;
  }

 private:
  async::Task<void> serve() {
    auto started = start();
    if (!started) {
      log::error("worker", "{}", started.error().message);
      auto line = remote::to_line(remote::WorkerFailed{started.error().message});
      co_await control_->write_line(std::move(line));
      co_return finish(1);
    }
    auto line = remote::to_line(remote::WorkerReady{
        .llama = std::string(engine::running_llama_version()), .devices = server_.devices(), .open = ready_->open});
    const auto written = co_await control_->write_line(std::move(line));
    if (!written) co_return finish(0);
    tasks_.spawn("liveness", answer());
    auto relaying = relay_->run();
    co_await std::move(relaying);
  }

  Result<> start() {
    if (!ready_) return std::unexpected(ready_.error());
    auto server = remote::DeviceServer::start(arguments_.server, [this] { loop_.post([this] { finish(1); }); });
    if (!server) return std::unexpected(server.error());
    server_ = std::move(*server);
    relay_ = std::make_unique<remote::Relay>(loop_.executor(), timers_, std::move(ready_->listener), server_.port());
    return {};
  }

  // A process that hangs doesn't answer, which shows the problem.
  async::Task<void> answer() {
    while (true) {
      const auto asked = co_await control_->read_line();
      if (!asked) co_return;  // the parent has ended
      std::string line(remote::kAlive);
      const auto written = co_await control_->write_line(std::move(line));
      if (!written) co_return;
    }
  }
  async::Task<void> watch_parent() {
    co_await control_->until_peer_gone();
    finish(0);
  }
  async::Task<void> watch_signals() {
    (void)co_await signals_.async_wait(async::as_value);
    finish(0);
  }
  void finish(int code) {
    exit_code_ = code;
    loop_.stop();
  }

  const Arguments arguments_;
  Result<Ready> ready_;
  async::Loop loop_;
  async::SystemTimers timers_;
  std::unique_ptr<proc::ControlChannel> control_;
  async::asio::basic_signal_set<async::Executor> signals_;
  remote::DeviceServer server_;
  std::unique_ptr<remote::Relay> relay_;
  async::TaskGroup tasks_;
  int exit_code_ = 0;
};

}  // namespace

int rpc_worker_process(int argc, char** argv) {
  if (!proc::bind_to_parent_from_environment()) return 0;
  auto arguments = parse_arguments({argv, static_cast<std::size_t>(argc)});
  if (!arguments) {
    std::fputs(
        "usage: corral rpc-worker --socket PATH --threads N [--memory BYTES] [--cache FOLDER] [--cache-file BYTES] "
        "[--devices NAME,NAME] (started by corral serve)\n",
        stderr);
    return 2;
  }
  // llama.cpp's server would end by the signal if a client disconnects during an answer.
  std::signal(SIGPIPE, SIG_IGN);
  auto ready = lock_in(*arguments);
  Worker worker(std::move(*arguments), std::move(ready));
  // The server's thread computes until the end, so nothing that it uses is destroyed.
  const int code = worker.run();
  ::_exit(code);
}

}  // namespace corral::app
