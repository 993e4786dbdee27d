// For tests of groups: nodes in one process, each with a real GroupRunner over simulated processes, links that are
// queues, and tunnels that are entries in a list. The test runs the one loop and moves the clocks.
//
//   auto& a = add(), &b = add();
//   a.want({&b});                 // a hosts "m" over b and itself
//   settle();
//   EXPECT_TRUE(a.stands());
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <future>
#include <list>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "async/loop.h"
#include "base/log.h"
#include "fleet/base/errors.h"
#include "fleet/base/no_peers_for_tests.h"
#include "fleet/groups/group_runner.h"
#include "fleet/groups/holder_file.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using GroupState = mesh::GroupHost::State;

class GroupTest : public testing::Test {
 public:
  struct Node;

  class Peers final : public NoPeers {
   public:
    explicit Peers(Node& node) : node_(node) {}
    void listen(mesh::PeerEvents& events) override { listener = &events; }
    void forget(mesh::PeerEvents&) override { listener = nullptr; }
    const mesh::NodeId& own() const override { return node_.id; }
    const mesh::Boot& boot() const override { return node_.boot; }
    bool is_up(const mesh::NodeId& peer) const override { return up.contains(peer); }
    void send(const mesh::NodeId& to, mesh::Frame frame) override {
      if (up.contains(to)) node_.world.letters.push_back({node_.id, to, std::move(frame)});
    }

    mesh::PeerEvents* listener = nullptr;
    std::set<mesh::NodeId> up;

   private:
    Node& node_;
  };

  // Carries out orders in the next turn of the loop, unless the test changes that.
  class Hands final : public GroupProcesses {
   public:
    struct Engine {
      EngineOrder order;
      bool ready = false;
      bool draining = false;
    };
    explicit Hands(Node& node) : node_(node) {}

    void start_engine(EngineOrder order) override {
      const auto of = order.of;
      ++starts;
      engines[of] = {std::move(order)};
      if (loads) later([this, of] { load(of); });
    }
    void drain_engine(const mesh::ContentKey&, mesh::PlanTerm of, std::optional<Millis>) override {
      if (const auto found = engines.find(of); found != engines.end()) found->second.draining = true;
      later([this] { look_at_drains(); });
    }
    void stop_engine(const mesh::ContentKey&, mesh::PlanTerm of, std::string why) override {
      stopped_for = std::move(why);
      if (stops) later([this, of] { end(of, EngineEnd::asked, "stopped"); });
    }
    void open_worker(WorkerOrder order) override {
      ++opens;
      EXPECT_FALSE(worker) << "two workers at once";
      worker = std::move(order);
      if (works) later([this] { make_ready(); });
    }
    void reap_worker(const mesh::NodeId& host, mesh::PlanTerm of) override {
      EXPECT_TRUE(worker && worker->host == host && worker->of == of);
      later([this, host, of] {
        if (!worker) return;
        worker.reset();
        node_.world.break_tunnels_to(node_);
        if (auto* receiver = reports()) receiver->worker_reaped(host, of);
      });
    }
    void hold(const std::string& name, bool on) override { on ? (void)held.insert(name) : (void)held.erase(name); }
    void members(std::vector<mesh::NodeId> all) override { received_members = std::move(all); }

    // Called by the test.
    void load(mesh::PlanTerm of) {
      const auto found = engines.find(of);
      if (found == engines.end() || found->second.ready) return;
      if (!fails.empty()) return end(of, EngineEnd::failed, fails);
      found->second.ready = true;
      if (auto* receiver = reports()) receiver->engine_started(found->second.order.model, of);
    }
    void load_all() {
      for (const auto& of : all()) load(of);
    }
    void end(mesh::PlanTerm of, EngineEnd how, const std::string& why) {
      const auto found = engines.find(of);
      if (found == engines.end()) return;
      const auto model = found->second.order.model;
      engines.erase(found);
      if (auto* receiver = reports()) receiver->engine_ended(model, of, how, why);
    }
    void crash_all(const std::string& why = "its connection broke") {
      for (const auto& of : all()) end(of, EngineEnd::crashed, why);
    }
    void look_at_drains() {
      if (requests > 0) return;
      for (const auto& of : all()) {
        if (!engines.at(of).draining) continue;
        const auto model = engines.at(of).order.model;
        if (auto* receiver = reports()) receiver->engine_drained(model, of);
        end(of, EngineEnd::asked, "drained");
      }
    }
    void make_ready() {
      if (!worker) return;
      const auto order = *worker;
      auto* receiver = reports();
      if (receiver == nullptr) return;
      if (!worker_fails.empty()) {
        receiver->worker_failed(order.host, order.of, Error(make_error_code(errc::nowhere), worker_fails));
      } else {
        receiver->worker_ready(order.host, order.of, "/run/worker", "v");
      }
    }
    void kill_worker() {
      ASSERT_TRUE(worker);
      const auto order = *worker;
      if (auto* receiver = reports())
        receiver->worker_failed(order.host, order.of, Error(make_error_code(errc::nowhere), "killed"));
      node_.world.break_tunnels_to(node_);
    }
    std::vector<mesh::PlanTerm> all() const {
      std::vector<mesh::PlanTerm> found;
      for (const auto& [of, engine] : engines) found.push_back(of);
      return found;
    }

    std::map<mesh::PlanTerm, Engine> engines;
    std::optional<WorkerOrder> worker;
    std::set<std::string> held;
    std::vector<mesh::NodeId> received_members;
    int starts = 0, opens = 0;
    int requests = 0;  // running on its engines
    bool loads = true, stops = true, works = true;
    std::string fails, worker_fails;
    std::string stopped_for;  // the cause of the latest stop_engine()

   private:
    void later(std::function<void()> what) { node_.world.loop.post(std::move(what)); }
    GroupReports* reports() const { return node_.runner ? &node_.runner->reports() : nullptr; }
    Node& node_;
  };

  struct Node {
    Node(GroupTest& test, unsigned number)
        : world(test),
          name(fmt::format("n{}", number)),
          id(mesh::test_key(number).id()),
          peers(*this),
          processes(*this) {
      boot.epoch = 1;
    }
    void start() {
      runner.emplace(
          GroupParts{.executor = world.loop.executor(),
                     .timers = world.timers,
                     .peers = peers,
                     .processes = processes,
                     .open_tunnel = [this](mesh::NodeId to, mesh::ContentKey model,
                                           mesh::PlanTerm of) { return world.open_tunnel(*this, to, model, of); },
                     .folder = folder.path(),
                     .disk = disk,
                     .node_name = [this](const mesh::NodeId& node) { return world.node(node).name; },
                     .llama_of = [](const mesh::NodeId&) { return std::string("v"); },
                     .own_name = [this](const mesh::ContentKey&) { return own_name; },
                     .model_name = [](const mesh::ContentKey&) { return std::string("m"); },
                     .now = [this] { return world.boot_time(); },
                     .write = [this](const auto& file, auto text) { return write(file, text); },
                     .seed = 1});
      runner->start();
      runner->lend(100);
    }
    Result<> write(const std::filesystem::path& file, std::string_view text) {
      ++writes;
      if (hangs) hang.get_future().wait();
      if (full) return fail(errc::nowhere, "no space left");
      return write_safely(file, text);
    }
    std::string noted() const {
      std::ifstream in(folder.path() / kHolderFile);
      std::string line;
      std::getline(in, line);
      return line;
    }
    mesh::GroupPlan plan(const std::vector<Node*>& workers, std::uint32_t layers = 10, std::uint64_t bytes = 10) const {
      mesh::GroupPlan made;
      made.model = {sha256({std::string_view("m")}), false};
      made.split.host = id;
      for (const auto* one : workers) made.split.shares.push_back({one->id, layers, bytes, 1, 1});
      made.split.shares.push_back({id, layers, bytes, 1, 1});
      return made;
    }
    bool want(const std::vector<Node*>& workers, std::uint32_t layers = 10,
              mesh::PlanCause cause = mesh::PlanCause::ordered) {
      const bool changes = runner->want(plan(workers, layers), cause);
      world.settle();
      return changes;
    }
    std::optional<GroupRunner::Hosted> hosted() const {
      const auto all = runner->hosted();
      return all.empty() ? std::nullopt : std::optional(all.front());
    }
    bool stands() const { return hosted() && hosted()->running; }
    std::string state() const { return hosted() ? std::string(name_of(hosted()->state)) : "none"; }
    // Parts of groups that are left; "": none.
    std::string leftovers() const {
      std::string text;
      if (!processes.engines.empty()) text += "engines ";
      if (processes.worker) text += "worker ";
      if (!processes.held.empty()) text += "held ";
      return text;
    }

    GroupTest& world;
    const std::string name;
    const mesh::NodeId id;
    mesh::Boot boot;
    mesh::TestFolder folder;
    async::ThreadPool disk{1};
    std::atomic<bool> full = false, hangs = false;  // also read by the disk's thread
    std::promise<void> hang;
    std::atomic<int> writes = 0;
    std::string own_name = "m.gguf";
    Peers peers;
    Hands processes;
    std::optional<GroupRunner> runner;
  };

  GroupTest() { log::set_level(log::Level::none); }
  ~GroupTest() override {
    for (auto& node : nodes) {
      if (node.hangs) {
        node.hangs = false;
        node.hang.set_value();
      }
      node.processes.requests = 0;
      node.processes.stops = true;
      if (node.runner) stop(node);
    }
    settle();
    for (auto& node : nodes) {
      EXPECT_EQ(node.leftovers(), "") << node.name;
      node.disk.finish();
    }
    EXPECT_EQ(tunnels.size(), 0u);
    EXPECT_EQ(timers.sleepers(), 0u);
  }

  Node& add() {
    auto& node = nodes.emplace_back(*this, static_cast<unsigned>(nodes.size() + 1));
    node.start();
    for (auto& other : nodes)
      if (&other != &node) heal(node, other);
    return node;
  }
  void stop(Node& node, Millis within = 0ms) {
    node.runner->wind_down(within);
    auto done = std::make_shared<bool>(false);
    async::asio::co_spawn(loop.executor(), node.runner->stop(), [done](const std::exception_ptr&) { *done = true; });
    settle();
    for (int steps = 0; !*done && steps < 400; ++steps) pass(100ms);
    EXPECT_TRUE(*done);
    node.runner.reset();
    settle();
  }

  void heal(Node& a, Node& b) {
    for (auto [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      one->peers.up.insert(other->id);
      mesh::Hello hello;
      hello.claim.boot = other->boot;
      if (one->peers.listener != nullptr) one->peers.listener->link_up(other->id, hello);
    }
    settle();
  }
  // What each node sees of the link; tunnels end with it.
  void cut(Node& a, Node& b, mesh::Closing why = {mesh::CloseReason::silent, false, {}}) {
    for (auto [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      one->peers.up.erase(other->id);
      if (one->peers.listener != nullptr) one->peers.listener->link_down(other->id, why);
    }
    break_tunnels(a, b);
    settle();
  }
  // The node's process has ended.
  void kill(Node& node) {
    node.runner.reset();
    node.peers.listener = nullptr;
    node.processes.engines.clear();
    node.processes.worker.reset();
    node.processes.held.clear();
    for (auto& other : nodes)
      if (&other != &node && node.peers.up.contains(other.id)) cut(node, other, {mesh::CloseReason::lost, false, {}});
    settle();
  }

  struct Tunnel {
    Node* from;
    Node* to;
    mesh::PlanTerm of;
  };
  async::Task<Result<OpenTunnel>> open_tunnel(Node& from, mesh::NodeId to, mesh::ContentKey model, mesh::PlanTerm of) {
    auto& far = node(to);
    ++tunnels_asked;
    if (tunnels_throw) throw std::runtime_error("something odd");
    if (!from.peers.is_up(to) || !far.runner) co_return fail(errc::nowhere, "no link");
    auto asking = far.runner->worker_for(from.id, model, of);
    auto socket = co_await std::move(asking);
    if (!socket) co_return std::unexpected(socket.error());
    auto tunnel = std::shared_ptr<Tunnel>(new Tunnel{&from, &far, of}, [this](Tunnel* one) {
      std::erase(tunnels, one);
      delete one;
    });
    tunnels.push_back(tunnel.get());
    co_return OpenTunnel{fmt::format("127.0.0.1:{}", tunnels.size()), std::move(tunnel)};
  }
  void break_tunnels(Node& a, Node& b) {
    for (const auto* one : std::vector(tunnels.begin(), tunnels.end())) {
      const bool between = (one->from == &a && one->to == &b) || (one->from == &b && one->to == &a);
      if (between) crash(*one->from, one->of);
    }
  }
  void break_tunnels_to(Node& worker) {
    for (const auto* one : std::vector(tunnels.begin(), tunnels.end()))
      if (one->to == &worker) crash(*one->from, one->of);
  }
  void crash(Node& host, mesh::PlanTerm of) {
    loop.post([&host, of] { host.processes.end(of, EngineEnd::crashed, "its connection broke"); });
  }

  Node& node(const mesh::NodeId& id) { return *std::ranges::find(nodes, id, &Node::id); }
  mesh::BootTime boot_time() const {
    return mesh::BootTime(std::chrono::duration_cast<Millis>(timers.now().time_since_epoch()) + stood_still);
  }

  // Runs everything that needs no time to pass.
  void settle() {
    for (int quiet = 0; quiet < 3;) {
      for (auto& node : nodes) {
        if (node.hangs) continue;
        std::promise<void> reached;
        node.disk.post([&] { reached.set_value(); });
        reached.get_future().wait();
      }
      loop.context().restart();
      bool moved = loop.context().poll() > 0;
      while (deliver) {
        if (letters.empty()) break;
        moved = true;
        auto letter = std::move(letters.front());
        letters.pop_front();
        auto& to = node(letter.to);
        if (!to.peers.up.contains(letter.from) || to.peers.listener == nullptr) continue;
        ++delivered;
        to.peers.listener->frame(letter.from, letter.frame);
      }
      quiet = moved ? 0 : quiet + 1;
    }
  }
  void pass(Millis time, Millis step = 250ms) {
    for (Millis gone = 0ms; gone < time; gone += step) {
      timers.advance(step);
      settle();
    }
  }

  struct Letter {
    mesh::NodeId from, to;
    mesh::Frame frame;
  };
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  Millis stood_still{0};
  std::deque<Letter> letters;
  bool deliver = true;
  std::uint64_t delivered = 0;
  std::vector<const Tunnel*> tunnels;
  int tunnels_asked = 0;
  bool tunnels_throw = false;
  std::list<Node> nodes;
};

}  // namespace corral::fleet
