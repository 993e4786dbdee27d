// Requests over the mesh on real loops and threads: two for connections, one for the mesh. For race detectors.
#include <random>
#include <thread>

#include "async/settle_for_tests.h"
#include "fleet/requests/fleet_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class LoopsTest : public testing::Test {
 protected:
  // One node; the mesh's loop and those of connections are the same for both.
  struct Side {
    Side(LoopsTest& test, unsigned number, std::string name)
        : key(mesh::test_key(number)),
          address{std::move(name), 1},
          network(test.air.add(key.public_key(), address, [](const auto&, auto) { return Result<>(); })),
          peers(key.id(), test.links, test.timers),
          transport(test.mesh_loop.executor(),
                    [this](UniqueFd end, std::string peer) { server.adopt(std::move(end), std::move(peer)); }),
          calls(transport, test.timers, selector, 8),
          backend(test.pool.home().executor()),
          router(test.pool.home(), test.timers, {&backend}, {}),
          demand(test.timers),
          provider(router, calls, demand, splits, test.timers),
          forwarder(provider, test.timers),
          for_peers(router, test.timers),
          handler(for_peers, test.pool.home().executor(), local_models, splits, transport, test.timers),
          server(test.pool, handler, {.take_request_ids = true}) {
      peers.network = network.get();
      backend.load_at_once = true;
      backend.reply = backends::FakeBackend::echo;
      transport.attach(peers);
    }
    async::Task<void> accept() {
      while (true) {
        auto stream = co_await network->accept();
        if (!stream) co_return;
        peers.arrived(peers.track(std::move(*stream)));
      }
    }

    const mesh::SigningKey key;
    const mesh::Address address;
    std::unique_ptr<mesh::Network> network;
    TestPeers peers;
    PeerTransport transport;
    TestChooser selector;
    PeerCalls calls;
    backends::FakeBackend backend;
    router::ModelRouter router;
    TestLocalModels local_models;
    DemandMeter demand;
    SplitTable splits;
    MeshLeaseProvider provider;
    router::Forwarder forwarder;
    router::PeerLeaseProvider for_peers;
    PeerRequestHandler handler;
    http::Server server;
  };

  LoopsTest() {
    log::set_level(log::Level::none);
    for (auto* side : {&a, &b}) {
      for (auto* other : {&a, &b}) side->peers.addresses[other->key.id()] = other->address;
    }
    b.local_models.models["m"] = backends::fake_model("m");
    a.selector.nodes["m"] = {{.node = b.key.id(), .node_name = "b", .model = "m", .content = {}}};
    accepting.spawn("accept", b.accept());
  }

  // Asks again and again on the loop it runs on; leaves some requests in the middle.
  async::Task<bool> ask(int requests, bool leaves) {
    std::mt19937 random(static_cast<unsigned>(requests));
    const auto executor = co_await async::asio::this_coro::executor;
    for (int i = 0; i < requests; ++i) {
      auto one = answered(i % 2 == 0);
      if (!leaves || random() % 2 == 0) {
        const bool good = co_await std::move(one);
        ++(good ? right : wrong);
        continue;
      }
      async::SpawnedTask<bool> leaving(executor, "leaving", std::move(one));
      for (auto turns = random() % 20; turns > 0; --turns) co_await async::asio::post(async::use_task);
    }
    co_return true;
  }
  async::Task<bool> answered(bool stream) {
    router::ForwardRequest request{
        .model = FleetModels::far("m"), .body = "{}", .stream = stream, .id = RequestId("r")};
    auto response = co_await router::answered(a.forwarder.forward(std::move(request)));
    const auto text = co_await response.body.read_all(10'000);
    co_return response.head.status == 200 && text && text->starts_with(R"({"model":"m")");
  }

  void run(int requests, bool leaves) {
    std::jthread mesh_thread([this] { mesh_loop.run(); });
    async::asio::co_spawn(pool.home().executor(), drive(requests, leaves), [this](const std::exception_ptr& failure) {
      EXPECT_FALSE(failure);
      pool.stop();
      mesh_loop.stop();
    });
    pool.run();
  }
  async::Task<void> drive(int requests, bool leaves) {
    {
      async::TaskGroup clients(pool.home().executor());
      for (std::size_t loop = 0; loop < pool.size(); ++loop) {
        for (int i = 0; i < 3; ++i) clients.spawn("client", on(loop, requests, leaves));
      }
      co_await clients.join();
    }
    for (auto* side : {&a, &b}) {
      auto serving = side->server.stop(Millis(5'000));
      co_await std::move(serving);
    }
    auto transport = cross_no_more();
    co_await async::run_on(mesh_loop.executor(), std::move(transport));
    for (auto* side : {&a, &b}) {
      auto routing = side->router.stop(Millis(1'000));
      co_await std::move(routing);
    }
    // What the loops had posted to each other.
    auto turning = async::give_turns({pool.home().executor(), pool.at(1).executor(), mesh_loop.executor()});
    co_await std::move(turning);
  }
  async::Task<void> on(std::size_t loop, int requests, bool leaves) {
    auto asking = ask(requests, leaves);
    co_await async::run_on(pool.at(loop).executor(), std::move(asking));
  }
  async::Task<void> cross_no_more() {
    accepting.cancel();
    co_await accepting.join();
    for (auto* side : {&a, &b}) {
      co_await side->calls.stop();
      side->transport.detach();
      co_await side->transport.stop();
    }
  }

  async::LoopPool pool{2};
  async::Loop mesh_loop;
  async::SystemTimers timers;
  mesh::MemoryNetwork air{mesh_loop.executor(), timers};
  TestLinks links;
  Side a{*this, 1, "a"}, b{*this, 2, "b"};
  async::TaskGroup accepting{mesh_loop.executor()};
  std::atomic<int> right = 0, wrong = 0;
};

TEST_F(LoopsTest, RequestsCrossFromEveryLoop) {
  run(40, false);
  EXPECT_EQ(right, 2 * 3 * 40);
  EXPECT_EQ(wrong, 0);
}

TEST_F(LoopsTest, ClientsLeaveAtAnyMoment) {
  run(60, true);
  EXPECT_GT(right, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(b.router.leftovers(), "");
}

}  // namespace
}  // namespace corral::fleet
