// Two nodes on a network of either kind, on one loop, with manual time. Its tests check both kinds against one
// contract.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/settle_for_tests.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "mesh/identity/errors.h"
#include "mesh/link/stream_link.h"
#include "mesh/net/memory_network_for_tests.h"
#include "mesh/net/tls/tls_network.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {

enum class Kind { memory, tls };

class NetworkFixture : public testing::TestWithParam<Kind> {
 protected:
  using StreamResult = std::optional<Result<std::unique_ptr<Stream>>>;
  using LinkResult = std::optional<Result<std::unique_ptr<Link>>>;

  NetworkFixture() { start_b(); }
  // Runs before the members of the test itself are destroyed.
  void TearDown() override {
    group.cancel();
    settle();
    dialled.reset();
    accepted.reset();
    link_a.reset();
    link_b.reset();
    net_a.reset();
    net_b.reset();
    settle();
  }

  void start_b() {
    const PeerAuthorizer keeper = [this](const PublicKey& key, Purpose purpose) { return verdict(key, purpose); };
    if (GetParam() == Kind::memory) {
      at_b = {"b", 1};
      net_a = air.add(a.public_key(), {"a", 1}, {});
      net_b = air.add(b.public_key(), at_b, keeper);
      return;
    }
    net_a = std::make_unique<TlsNetwork>(loop.executor(), a, timers);
    auto listening = std::make_unique<TlsNetwork>(loop.executor(), b, timers);
    at_b = *listening->listen({"127.0.0.1", 0}, keeper);
    net_b = std::move(listening);
  }

  // Runs everything that needs no time to pass.
  void settle() {
    do {
      async::settle_sockets(loop);
      for (auto* disk : disks) async::finish_jobs(*disk);
    } while (loop.context().poll() > 0);
  }
  // Until `done`, or a limit after which it never will be.
  bool until(const std::function<bool()>& done) {
    const auto limit = MonoClock::now() + std::chrono::seconds(20);
    while (!done() && MonoClock::now() < limit) loop.context().run_one_for(std::chrono::milliseconds(100));
    return done();
  }
  void pass(Millis time, Millis step = Millis(100)) {
    for (Millis gone(0); gone < time; gone += step) {
      timers.advance(step);
      settle();
    }
  }
  // Runs a task to its end.
  void run(async::Task<void> task) {
    bool done = false;
    auto mark = [](async::Task<void> work, bool& flag) -> async::Task<void> {
      co_await std::move(work);
      flag = true;
    };
    group.spawn("test", mark(std::move(task), done));
    EXPECT_TRUE(until([&] { return done; }));
  }

  async::Task<void> dial(Purpose purpose, std::vector<NodeId> pins) {
    dialled = co_await net_a->dial(at_b, pins, purpose);
  }
  async::Task<void> accept() { accepted = co_await net_b->accept(); }
  // From a to b.
  void connect(Purpose purpose = Purpose::control) {
    dialled.reset();
    accepted.reset();
    group.spawn("accept", accept());
    run(dial(purpose, {b.id()}));
    ASSERT_TRUE(*dialled) << dialled->error().message;
    ASSERT_TRUE(until([&] { return accepted.has_value(); }));
    ASSERT_TRUE(*accepted);
  }
  Stream& at_a() { return ***dialled; }
  Stream& at_other_end() { return ***accepted; }

  LinkOptions options(const SigningKey& key) {
    LinkOptions made;
    made.hello = {mesh, kProtocolMinor, {}, make_claim(key, {1, {}}), {}};
    return made;
  }
  async::Task<void> open(LinkResult& result, std::unique_ptr<Stream> stream, LinkOptions with) {
    result = co_await open_link(std::move(stream), std::move(with), timers);
  }
  void open_links(LinkOptions with_a, LinkOptions with_b) {
    connect();
    group.spawn("a", open(link_a, std::move(**dialled), std::move(with_a)));
    group.spawn("b", open(link_b, std::move(**accepted), std::move(with_b)));
    ASSERT_TRUE(until([&] { return link_a && link_b; }));
  }
  void open_links() {
    open_links(options(a), options(b));
    ASSERT_TRUE(*link_a && *link_b);
  }
  Link& a_link() { return ***link_a; }
  Link& b_link() { return ***link_b; }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  async::TaskGroup group{loop.executor()};
  SigningKey a = test_key(1), b = test_key(2), c = test_key(3);
  MeshId mesh = mesh_id({a.public_key(), {}});
  PeerAuthorizer verdict = [](const PublicKey&, Purpose) { return Result<>(); };
  MemoryNetwork air{loop.executor(), timers};
  std::unique_ptr<Network> net_a, net_b;
  Address at_b;
  StreamResult dialled, accepted;
  LinkResult link_a, link_b;
  std::vector<async::ThreadPool*> disks;  // of one thread each; settle() waits for their jobs
};

inline std::string kind_name(const testing::TestParamInfo<Kind>& kind) {
  return kind.param == Kind::memory ? "Memory" : "Tls";
}
#define CORRAL_ON_BOTH_NETWORKS(suite) \
  INSTANTIATE_TEST_SUITE_P(Networks, suite, testing::Values(Kind::memory, Kind::tls), kind_name)

}  // namespace corral::mesh
