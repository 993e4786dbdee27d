// For tests of requests over the mesh: nodes in one process, each with a real router over a simulated backend, a real
// PeerRequestHandler behind a real HTTP server, and streams in memory. The test runs the one loop and moves the one
// clock.
//
//   auto& a = add("a"), &b = add("b");
//   b.have("m");                          // on b's disk, and loaded
//   auto answer = forward(a, far("m"));   // asked at a
//   b.server("m").request().answer(200, "{}");
#pragma once

#include <algorithm>
#include <list>
#include <set>

#include <boost/asio/post.hpp>

#include "fleet/base/errors.h"
#include "fleet/base/remote_models.h"
#include "fleet/requests/mesh_lease_provider.h"
#include "fleet/requests/peer_request_handler.h"
#include "fleet/requests/split_lease_provider.h"
#include "http/server.h"
#include "mesh/identity/errors.h"
#include "mesh/net/memory_network_for_tests.h"
#include "mesh/support_for_tests.h"
#include "models/errors.h"
#include "residency/errors.h"
#include "router/base/errors.h"
#include "router/peer_lease_provider.h"
#include "router/router_fixture_for_tests.h"

namespace corral::fleet {

using namespace std::chrono_literals;
using router::Pending;
using router::Reader;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The links of all nodes: which are up, and which streams end with a link.
struct TestLinks {
  struct Shared {
    std::unique_ptr<mesh::Stream> stream;
    std::pair<mesh::NodeId, mesh::NodeId> ends;
  };
  std::set<std::pair<mesh::NodeId, mesh::NodeId>> down;
  std::list<std::weak_ptr<Shared>> streams;

  bool up(const mesh::NodeId& a, const mesh::NodeId& b) const {
    return !down.contains({a, b}) && !down.contains({b, a});
  }
  void end(const mesh::NodeId& a, const mesh::NodeId& b) {
    down.insert({a, b});
    for (const auto& weak : streams) {
      const auto shared = weak.lock();
      if (shared && (shared->ends == std::pair(a, b) || shared->ends == std::pair(b, a))) shared->stream->close();
    }
  }
};

class TestStream final : public mesh::Stream {
 public:
  explicit TestStream(std::shared_ptr<TestLinks::Shared> shared) : shared_(std::move(shared)) {}
  ~TestStream() override { shared_->stream->close(); }
  const mesh::Peer& peer() const override { return shared_->stream->peer(); }
  mesh::Purpose purpose() const override { return shared_->stream->purpose(); }
  async::Task<Result<std::size_t>> read_some(std::span<char> space) override {
    return shared_->stream->read_some(space);
  }
  async::Task<Result<bool>> readable() override { return shared_->stream->readable(); }
  bool is_quiet() const override { return shared_->stream->is_quiet(); }
  async::Task<Result<>> write(std::string_view bytes) override { return shared_->stream->write(bytes); }
  async::Task<void> finish() override { return shared_->stream->finish(); }
  void close() override { shared_->stream->close(); }
  Sha256 exporter(std::string_view label) const override { return shared_->stream->exporter(label); }

 private:
  const std::shared_ptr<TestLinks::Shared> shared_;
};

// The Peers of a node. Heartbeats come when the test sends them.
class TestPeers final : public mesh::Peers {
 public:
  TestPeers(mesh::NodeId own, TestLinks& links, async::Timers& timers) : own_(own), links_(links), timers_(timers) {}

  void listen(mesh::PeerEvents& events) override { listener = &events; }
  void forget(mesh::PeerEvents&) override { listener = nullptr; }
  const mesh::NodeId& own() const override { return own_; }
  const mesh::Boot& boot() const override { return boot_; }
  std::vector<mesh::PeerView> view() const override { return {}; }
  bool is_up(const mesh::NodeId& peer) const override { return links_.up(own_, peer); }
  void send(const mesh::NodeId&, mesh::Frame) override {}
  async::Task<Result<std::unique_ptr<mesh::Stream>>> open(mesh::NodeId peer, mesh::Purpose purpose) override {
    ++opened;
    if (!is_up(peer)) co_return fail(mesh::errc::unreachable, "no link");
    auto dialling = network->dial(addresses.at(peer), {peer}, purpose);
    auto stream = co_await std::move(dialling);
    if (!stream) co_return std::unexpected(stream.error());
    co_return track(std::move(*stream));
  }
  void on_stream(mesh::Purpose, StreamHandler handler) override { arrived = std::move(handler); }
  std::vector<mesh::InFlightId> listed_by(const mesh::NodeId& peer) const override {
    const auto found = received.find(peer);
    return found == received.end() ? std::vector<mesh::InFlightId>() : found->second;
  }
  std::optional<MonoTime> last_heartbeat(const mesh::NodeId& peer) const override {
    const auto found = received_at.find(peer);
    return found == received_at.end() || !is_up(peer) ? std::nullopt : std::optional(found->second);
  }
  void hold(const mesh::NodeId& peer, mesh::InFlightId id) override { holds[peer].insert(id); }
  void release(const mesh::NodeId& peer, mesh::InFlightId id) override {
    auto& list = holds[peer];
    if (const auto found = list.find(id); found != list.end()) list.erase(found);
  }
  void hint(const mesh::NodeId&, const mesh::Address&) override {}
  bool take_load(const mesh::NodeId& peer) override { return loads[peer]++ < 4; }

  std::unique_ptr<mesh::Stream> track(std::unique_ptr<mesh::Stream> stream) {
    auto shared = std::make_shared<TestLinks::Shared>();
    shared->ends = {own_, stream->peer().id};
    shared->stream = std::move(stream);
    links_.streams.push_back(shared);
    return std::make_unique<TestStream>(std::move(shared));
  }
  // A heartbeat of `from`, with its list of our in-flight requests.
  void receive(const TestPeers& from) {
    const auto held = from.holds.find(own_);
    received[from.own_] = held == from.holds.end()
                              ? std::vector<mesh::InFlightId>()
                              : std::vector<mesh::InFlightId>(held->second.begin(), held->second.end());
    received_at[from.own_] = timers_.now();
  }

  mesh::PeerEvents* listener = nullptr;
  mesh::Network* network = nullptr;
  StreamHandler arrived;
  std::map<mesh::NodeId, mesh::Address> addresses;
  std::map<mesh::NodeId, std::multiset<mesh::InFlightId>> holds;
  std::map<mesh::NodeId, std::vector<mesh::InFlightId>> received;
  std::map<mesh::NodeId, MonoTime> received_at;
  std::map<mesh::NodeId, int> loads;
  int opened = 0;

 private:
  const mesh::NodeId own_;
  const mesh::Boot boot_{};
  TestLinks& links_;
  async::Timers& timers_;
};

// Selects the first allowed node of the test's list for the model.
class TestChooser final : public NodeSelector {
 public:
  Result<SelectedNode> choose(const NodeQuery& question) override {
    ++asked;
    last_conversation = question.conversation;
    std::vector<SelectedNode> left;
    for (const auto& chosen : nodes[question.model.name.value()]) {
      const auto busy = question.busy.find(chosen.node);
      const bool full = busy != question.busy.end() && busy->second >= 32;
      if (!question.avoid.contains(chosen.node) && !full) left.push_back(chosen);
    }
    if (!left.empty()) {
      left.front().alone = left.size() == 1;
      return left.front();
    }
    Error error(make_error_code(errc::nowhere), "no node has room for it");
    error.retry_after = std::chrono::seconds(7);
    return std::unexpected(std::move(error));
  }

  std::map<std::string, std::vector<SelectedNode>> nodes;
  int asked = 0;
  std::uint64_t last_conversation = 0;
};

class TestLocalModels final : public LocalModels {
 public:
  Result<models::Catalog::Model> find(std::string_view name) const override {
    const auto found = models.find(std::string(name));
    if (found == models.end()) return fail(models::errc::model_not_found, "no such model");
    return found->second;
  }
  std::string content_of(const models::ModelInfo& model) const override {
    const auto found = contents.find(model.name.value());
    return found == contents.end() ? std::string() : found->second;
  }

  std::map<std::string, backends::ModelPtr> models;
  std::map<std::string, std::string> contents;
};

// Models of other nodes.
struct FleetModels {
  static backends::ModelPtr far(const std::string& name, ModelType type = ModelType::llm) {
    auto model = std::make_shared<RemoteModel>();
    model->name = ModelName(name);
    model->type = type;
    return model;
  }
};

// Models that groups hold (GroupProcesses::hold): requests don't load them.
class HeldLender final : public router::LeaseProvider {
 public:
  HeldLender(router::LeaseProvider& inner, const std::set<std::string>& held) : inner_(inner), held_(held) {}
  router::Lease try_acquire(const models::ModelInfo& model, std::uint64_t context) override {
    return inner_.try_acquire(model, context);
  }
  async::Task<Result<router::Lease>> acquire(backends::ModelPtr model, router::LeaseRequest request) override {
    if (!held_.contains(model->name.value())) co_return co_await inner_.acquire(model, request);
    if (auto lease = inner_.try_acquire(*model, request.context.tokens)) co_return lease;
    co_return fail(residency::errc::not_here, "its group doesn't stand", "model");  // as residency::not_standing()
  }
  void count(router::RequestEnd end) override { inner_.count(std::move(end)); }

 private:
  router::LeaseProvider& inner_;
  const std::set<std::string>& held_;
};

class FleetTest : public testing::Test, public FleetModels {
 protected:
  struct Node {
    Node(FleetTest& test, unsigned number, std::string called)
        : of(test),
          name(std::move(called)),
          key(mesh::test_key(number)),
          address{name, 1},
          network(test.air.add(key.public_key(), address, [](const auto&, auto) { return Result<>(); })),
          peers(key.id(), test.links, test.timers),
          transport(test.loop.executor(),
                    [this](UniqueFd end, std::string peer) { server->adopt(std::move(end), std::move(peer)); }),
          calls(transport, test.timers, selector),
          backend(test.loop.executor()),
          demand(test.timers),
          tasks(test.loop.executor()) {
      peers.network = network.get();
      router::RouterOptions options;
      options.residency.limits = residency::Limits::of_all(8);
      router.emplace(test.loop, test.timers, std::vector<backends::Backend*>{&backend}, std::move(options));
      held_here.emplace(*router, group_held);
      own_splits.emplace(*held_here, splits, test.timers);
      provider.emplace(*own_splits, calls, demand, splits, test.timers);
      forwarder.emplace(*provider, test.timers);
      for_peers.emplace(*router, test.timers);
      held_for_peers.emplace(*for_peers, group_held);
      splits_for_peers.emplace(*held_for_peers, splits, test.timers);
      handler.emplace(*splits_for_peers, test.loop.executor(), local_models, splits, transport, test.timers);
      http::ServerOptions serving;
      serving.timers = &test.timers;
      serving.take_request_ids = true;
      server.emplace(test.pool, *handler, serving);
      transport.attach(peers);
      tasks.spawn("accept", accept());
    }

    async::Task<void> accept() {
      while (true) {
        auto stream = co_await network->accept();
        if (!stream) co_return;
        auto tracked = peers.track(std::move(*stream));
        if (peers.arrived) peers.arrived(std::move(tracked));
      }
    }
    mesh::NodeId id() const { return key.id(); }
    SelectedNode chosen(const std::string& model) const { return {id(), name, model, {}, 0}; }
    // Puts the model on its disk.
    backends::ModelPtr own(const std::string& model, ModelType type = ModelType::llm) {
      auto& known = local_models.models[model];
      if (!known) known = backends::fake_model(model, type);
      return known;
    }
    // Puts it into memory as well.
    void have(const std::string& model, ModelType type = ModelType::llm) {
      auto loading = of.run(router->load(own(model, type), router::OptionPatch(), std::nullopt));
      if (!loading.done()) backend.server(model).finish_load();
      of.settle();
      ASSERT_TRUE(loading.granted());
    }
    // Sets the state of the model's group at this node.
    void split(const std::string& model, SplitStatus::State state, const std::string& why = {}) {
      if (state == SplitStatus::State::coming || state == SplitStatus::State::unavailable) {
        group_held.erase(model);
      } else {
        group_held.insert(model);
      }
      SplitStatus status;
      status.name = own(model)->name.value();
      status.state = state;
      status.why = why;
      status.since = of.timers.now();
      splits.set({std::move(status)});
    }
    // As known here, the model's group is at `host`, or is going to be.
    void set_host(const std::string& model, const Node& host) {
      SplitStatus status;
      status.name = model;
      status.host = host.id();
      splits.set({std::move(status)});
    }
    backends::FakeServer& server_of(const std::string& model) { return backend.server(model); }
    backends::FakeRequest& request(const std::string& model) { return backend.server(model).request(); }
    std::size_t leases() {
      std::size_t count = 0;
      auto report = of.run(router->report());
      for (const auto& resident : report.get().instances) count += resident.view.leases;
      return count;
    }
    // What is left of requests: "" without requests.
    std::string leftovers() {
      std::string text;
      if (calls.size() > 0) text += fmt::format("{} calls ", calls.size());
      if (!calls.busy().empty()) text += "busy ";
      if (splits.waiting() > 0) text += fmt::format("{} wait for a split ", splits.waiting());
      if (leases() > 0) text += fmt::format("{} leases ", leases());
      for (const auto& [node, held] : peers.holds)
        if (!held.empty()) text += fmt::format("{} held ", held.size());
      if (!handler->requests().list().empty()) text += "requests at the door ";
      if (!forwarder->requests().list().empty()) text += "requests ";
      return text;
    }

    FleetTest& of;
    const std::string name;
    const mesh::SigningKey key;
    const mesh::Address address;
    std::unique_ptr<mesh::Network> network;
    TestPeers peers;
    PeerTransport transport;
    TestChooser selector;
    PeerCalls calls;
    backends::FakeBackend backend;
    std::optional<router::ModelRouter> router;
    TestLocalModels local_models;
    std::optional<router::PeerLeaseProvider> for_peers;
    SplitTable splits;
    std::set<std::string> group_held;  // models that groups hold
    std::optional<HeldLender> held_here, held_for_peers;
    std::optional<SplitLeaseProvider> own_splits, splits_for_peers;
    DemandMeter demand;
    std::optional<MeshLeaseProvider> provider;
    std::optional<router::Forwarder> forwarder;
    std::optional<PeerRequestHandler> handler;
    std::optional<http::Server> server;
    async::TaskGroup tasks;
    bool alive = true;
  };

  void SetUp() override { log::set_level(log::Level::none); }
  void TearDown() override {
    settle();
    for (auto& node : nodes) {
      node->backend.stop_at_once = true;
      for (const auto& fake : node->backend.servers()) fake->let_stop();
    }
    pass(1000ms);
    for (auto& node : nodes) EXPECT_EQ(node->leftovers(), "") << node->name;
    for (auto& node : nodes) {
      auto stopping = run(stopped(*node));
      pass(1500ms);
      EXPECT_TRUE(stopping.done()) << node->name;
      EXPECT_EQ(node->router->leftovers(), "") << node->name;
      EXPECT_EQ(node->transport.bridges().pumps(), 0u) << node->name;
      EXPECT_EQ(node->server->connections(), 0u) << node->name;
    }
    settle();
    EXPECT_EQ(timers.sleepers(), 0u);
    nodes.clear();
    settle();
  }

  async::Task<bool> stopped(Node& node) {
    auto serving = node.server->stop(0ms);
    co_await std::move(serving);
    co_await node.calls.stop();
    node.transport.detach();
    co_await node.transport.stop();
    node.tasks.cancel();
    co_await node.tasks.join();
    auto routing = node.router->stop(Millis(1000));
    co_await std::move(routing);
    co_return true;
  }

  Node& add(const std::string& name) {
    auto& node = *nodes.emplace_back(std::make_unique<Node>(*this, static_cast<unsigned>(nodes.size() + 1), name));
    for (auto& one : nodes) {
      for (auto& other : nodes) one->peers.addresses[other->id()] = other->address;
    }
    return node;
  }
  // At `entry`, requests for `model` go to these nodes, in this order.
  void route(Node& entry, const std::string& model, std::vector<Node*> to) {
    auto& chosen_nodes = entry.selector.nodes[model];
    chosen_nodes.clear();
    for (const auto* node : to) chosen_nodes.push_back(node->chosen(model));
  }

  // The machine fails: its links and its network end.
  void kill(Node& node) {
    node.alive = false;
    for (auto& other : nodes) {
      if (other.get() != &node) links.end(node.id(), other->id());
    }
    for (auto& other : nodes)
      if (other->peers.listener != nullptr) other->peers.listener->reach_changed();
  }

  void settle() {
    auto& context = loop.context();
    for (int quiet = 0; quiet < 3;) {
      context.restart();
      quiet = context.poll() > 0 ? 0 : quiet + 1;
    }
  }
  // Lets time pass, with heartbeats.
  void pass(Millis time, Millis step = 100ms) {
    for (Millis gone = 0ms; gone < time; gone += step) {
      timers.advance(step);
      settle();
      since_beat += step;
      if (since_beat < 500ms) continue;
      since_beat = 0ms;
      beat();
    }
  }
  void beat() {
    for (auto& node : nodes) {
      for (auto& other : nodes) {
        if (node != other && node->alive && other->alive && links.up(node->id(), other->id()))
          node->peers.receive(other->peers);
      }
    }
  }

  template <typename T>
  Pending<T> run(async::Task<T> task) {
    Pending<T> pending(loop.executor(), std::move(task));
    settle();
    return pending;
  }
  auto forward(Node& at, router::ForwardRequest request) {
    request.id = RequestId(fmt::format("req-{}", ++requests));
    return run(router::answered(at.forwarder->forward(std::move(request))));
  }
  auto forward(Node& at, backends::ModelPtr model, bool stream = false, std::string body = "{}") {
    return forward(at, router::ForwardRequest{.model = std::move(model), .body = std::move(body), .stream = stream});
  }
  Reader reader(Pending<http::Response>& response) {
    Reader made(loop.executor(), std::move(response.get()));
    settle();
    return made;
  }
  // The text of a complete response.
  std::string text(Pending<http::Response>& response) { return reader(response).text(); }

  async::LoopPool pool{1};
  async::Loop& loop = pool.home();
  async::ManualTimers timers{loop.executor()};
  mesh::MemoryNetwork air{loop.executor(), timers};
  TestLinks links;
  std::vector<std::unique_ptr<Node>> nodes;
  Millis since_beat{0};
  int requests = 0;
};

}  // namespace corral::fleet
