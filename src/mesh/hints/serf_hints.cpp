#include "mesh/hints/serf_hints.h"

#include <algorithm>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>

#include "async/event.h"
#include "async/task_group.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/state_file.h"
#include "mesh/hints/hint_diff.h"
#include "mesh/hints/serf_config.h"
#include "mesh/hints/serf_rpc.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

namespace asio = async::asio;

constexpr Millis kAgentGrace{3'000};
constexpr Millis kFarewell{3'000};  // for an agent to end after a leave
constexpr Millis kRetryConnect{50};
constexpr std::size_t kMaxEngines = 32;

// A port of loopback that is free now. The agent takes it a moment later; if another program is faster, the agent ends
// and the next one gets another port.
std::uint16_t free_port(async::Executor executor) {
  boost::system::error_code error;
  asio::basic_socket_acceptor<asio::ip::tcp, async::Executor> acceptor(executor);
  acceptor.open(asio::ip::tcp::v4(), error);
  if (!error) acceptor.bind({asio::ip::address_v4::loopback(), 0}, error);
  return error ? std::uint16_t{0} : acceptor.local_endpoint(error).port();
}

// One agent after another. Shared between its owner and the task that runs them, which outlives the owner for a moment.
class Agents {
 public:
  Agents(async::Executor executor, async::Timers& timers, proc::Spawner& spawner, SerfOptions options)
      : executor_(executor),
        timers_(timers),
        spawner_(spawner),
        options_(std::move(options)),
        diff_(options_.node),
        received_(executor),
        changed_(executor),
        leave_(executor),
        tasks_(executor) {}

  static void start(const std::shared_ptr<Agents>& agents) { agents->tasks_.spawn("hints", supervise(agents)); }
  void cancel() { tasks_.cancel(); }
  static async::Task<void> stop(std::shared_ptr<Agents> agents) {
    agents->leave_.set();
    co_await agents->tasks_.join();
  }

  void publish(Hint own) {
    own.node = options_.node;
    if (own_ == own) return;
    own_ = std::move(own);
    changed_.set();
  }

  void look_at(std::vector<Address> engines) {
    std::ranges::sort(engines);
    engines.erase(std::ranges::unique(engines).begin(), engines.end());
    if (engines.size() > kMaxEngines) engines.resize(kMaxEngines);
    if (engines == engines_) return;
    engines_ = std::move(engines);
    look_due_ = true;
    changed_.set();
  }

  async::Task<std::vector<Hint>> next() {
    while (fresh_.empty()) {
      received_.reset();
      co_await received_.wait();
    }
    co_return std::exchange(fresh_, {});
  }

  const std::string& state() const { return state_; }

 private:
  void set_state(std::string state) {
    if (state == state_) return;
    state_ = std::move(state);
    log::info("mesh", "hints: {}", state_);
  }

  static async::Task<void> supervise(std::shared_ptr<Agents> agents) {
    const auto& options = agents->options_;
    for (Millis pause = options.first_pause;; pause = std::min(2 * pause, options.longest_pause)) {
      const auto began = agents->timers_.now();
      auto ended = co_await agents->run_once();
      agents->set_state(std::move(ended));
      if (agents->timers_.now() - began > options.longest_pause) pause = options.first_pause;
      auto leaving = agents->until_leave();
      co_await async::with_timeout(agents->timers_, pause, std::move(leaving));
      if (agents->leave_.is_set()) co_return;
    }
  }

  // Runs one agent to its end; returns how it ended.
  async::Task<std::string> run_once() {
    SerfSetup setup{options_.node,   options_.bind, free_port(executor_),
                    random_text(32), options_.mesh, options_.folder / "serf.snapshot",
                    engines_};
    const auto file = options_.folder / "serf.json";
    const auto text = serf_config(setup);
    if (const auto written = write_state_file(file, text); !written) co_return written.error().message;
    proc::ChildSpec spec{.name = "serf",
                         .argv = {options_.program, "agent", "-config-file=" + file.native()},
                         .log_file = options_.log_file};
    auto child = co_await spawner_.spawn(std::move(spec));
    if (!child) {
      co_return child.error().code == proc::errc::program_not_found
          ? "Serf isn't installed (Debian's package serf); nodes find each other by the addresses they exchange"
          : child.error().message;
    }
    look_due_ = true;
    auto talking = talk(setup.rpc_port, setup.rpc_secret);
    auto over = until_over(**child);
    auto failure = co_await async::race(std::move(talking), std::move(over));
    if (!failure && !leave_.is_set()) co_return fmt::format("the Serf agent {}", end_);
    if (!failure) {
      failure = "stopped";
      auto leaving = leave(**child, setup.rpc_port, setup.rpc_secret);
      co_await async::with_timeout(timers_, kFarewell, std::move(leaving));
    }
    auto stopping = (*child)->stop(kAgentGrace);
    co_await std::move(stopping);
    co_return std::move(*failure);
  }

  // Until the agent has ended, or stop() was called.
  async::Task<void> until_over(proc::Child& child) {
    auto ending = until_ended(child);
    auto leaving = leave_.wait();
    co_await async::race(std::move(ending), std::move(leaving));
  }
  async::Task<bool> until_ended(proc::Child& child) {
    const auto status = co_await child.wait();
    end_ = status.describe();
    co_return true;
  }
  async::Task<bool> until_leave() {
    co_await leave_.wait();
    co_return true;
  }
  // Other agents then know that it left, and don't look for it as for a failed one.
  async::Task<bool> leave(proc::Child& child, std::uint16_t port, std::string secret) {
    auto connecting = SerfRpc::connect(port, std::move(secret), timers_);
    const auto agent = co_await std::move(connecting);
    if (!agent) co_return false;
    const auto left = co_await (*agent)->leave();
    if (left) co_await child.wait();
    co_return left.has_value();
  }

  // Until an error; returns its text.
  async::Task<std::string> talk(std::uint16_t port, std::string secret) {
    const auto deadline = timers_.now() + options_.start;
    Result<std::unique_ptr<SerfRpc>> agent = co_await SerfRpc::connect(port, secret, timers_);
    while (!agent) {
      if (agent.error().code != errc::unreachable || timers_.now() >= deadline) co_return agent.error().message;
      co_await timers_.sleep_for(kRetryConnect);
      agent = co_await SerfRpc::connect(port, secret, timers_);
    }
    set_state("running");
    std::optional<Hint> published;
    while (true) {
      changed_.reset();
      if (own_ && published != own_) {
        published = own_;
        const auto done = co_await (*agent)->publish(*published);
        if (!done) co_return done.error().message;
      }
      if (std::exchange(look_due_, false) && !engines_.empty()) {
        const auto done = co_await (*agent)->join(engines_);
        if (!done) co_return done.error().message;
      }
      auto members = co_await (*agent)->members();
      if (!members) co_return members.error().message;
      const auto rest = options_.look * static_cast<int>(1 + members->size() / kFewMembers);
      take(std::move(*members));
      auto waiting = until_changed();
      co_await async::with_timeout(timers_, rest, std::move(waiting));
      // Collects changes that come together, and limits the rate of commands.
      co_await timers_.sleep_for(kRetryConnect);
    }
  }

  async::Task<bool> until_changed() {
    co_await changed_.wait();
    co_return true;
  }

  void take(std::vector<Hint> all) {
    auto changes = diff_.take(std::move(all));
    if (changes.empty()) return;
    // One hint for each node: the latest.
    std::erase_if(fresh_, [&](const Hint& old) {
      return std::ranges::any_of(changes, [&](const Hint& hint) { return hint.node == old.node; });
    });
    std::ranges::move(changes, std::back_inserter(fresh_));
    received_.set();
  }

  const async::Executor executor_;
  async::Timers& timers_;
  proc::Spawner& spawner_;
  const SerfOptions options_;
  HintDiff diff_;
  std::vector<Hint> fresh_;  // for next()
  async::Event received_;
  std::optional<Hint> own_;
  std::vector<Address> engines_;
  bool look_due_ = false;
  async::Event changed_;
  async::Event leave_;
  std::string state_ = "starting";
  std::string end_;
  async::TaskGroup tasks_;
};

class SerfHints final : public PeerDiscovery {
 public:
  explicit SerfHints(std::shared_ptr<Agents> agents) : agents_(std::move(agents)) { Agents::start(agents_); }
  ~SerfHints() override { agents_->cancel(); }
  SerfHints(const SerfHints&) = delete;
  SerfHints& operator=(const SerfHints&) = delete;

  void publish(Hint own) override { agents_->publish(std::move(own)); }
  void look_at(std::vector<Address> engines) override { agents_->look_at(std::move(engines)); }
  async::Task<std::vector<Hint>> next() override { return agents_->next(); }
  async::Task<void> stop() override { return Agents::stop(agents_); }
  std::string state() const override { return agents_->state(); }

 private:
  const std::shared_ptr<Agents> agents_;
};

}  // namespace

std::unique_ptr<PeerDiscovery> make_serf_hints(async::Executor executor, async::Timers& timers, proc::Spawner& spawner,
                                               SerfOptions options) {
  return std::make_unique<SerfHints>(std::make_shared<Agents>(executor, timers, spawner, std::move(options)));
}

}  // namespace corral::mesh
