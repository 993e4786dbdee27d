// A tunnel between two nodes with real links, on both kinds of network; the engine is a socket on loopback, the worker
// a Unix socket of the test.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.h"
#include "fleet/base/errors.h"
#include "fleet/tunnels/tunnel_acceptor.h"
#include "fleet/tunnels/tunnel_entry.h"
#include "mesh/peers/peers_fixture_for_tests.h"

namespace corral::fleet {

// Bytes that have arrived; "END" at the end, "BROKEN" after an error, "" without bytes.
inline std::string got(const UniqueFd& end) {
  std::string all;
  char space[65536];
  while (true) {
    const auto count = ::recv(end.get(), space, sizeof space, MSG_DONTWAIT);
    if (count == 0) return all + "END";
    if (count < 0) return errno == EAGAIN ? all : all + "BROKEN";
    all.append(space, static_cast<std::size_t>(count));
  }
}
inline bool is_over(const UniqueFd& end) {
  const auto last = got(end);
  return last.ends_with("END") || last.ends_with("BROKEN");
}
inline std::size_t put(const UniqueFd& end, std::string_view bytes) {
  const auto count = ::send(end.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

class TunnelFixture : public mesh::PeersFixture {
 protected:
  using EntryResult = std::optional<Result<std::unique_ptr<TunnelEntry>>>;

  void SetUp() override {
    worker = listen_at(folder / "worker.sock");
    model.bytes[0] = 5;
    start_linked(2);
    door = std::make_unique<TunnelAcceptor>(parts(b()), [this](auto from, auto what, auto of) {
      ++asked;
      return find(this, from, what, of);
    });
  }
  void TearDown() override {
    entry.reset();
    opened.clear();
    settle();
    EXPECT_EQ(a().peers ? view(a(), b()).streams_to : 0, 0u) << "streams are left";
    if (door) {
      group.spawn("stop", door->stop());
      settle();
      EXPECT_EQ(door->streams(), 0u);
      door.reset();
    }
    settle();
    PeersFixture::TearDown();
  }
  TunnelParts parts(Member& of) { return {loop.executor(), timers, *of.peers}; }

  static async::Task<Result<std::string>> find(TunnelFixture* test, mesh::NodeId from, mesh::ContentKey what,
                                               mesh::PlanTerm of) {
    if (from != test->a().key.id() || what != test->model || of != test->plan)
      co_return fail(errc::worker_refused, "it is granted to another plan");
    while (test->starting) co_await test->timers.sleep_for(Millis(100));
    co_return (test->folder / "worker.sock").native();
  }

  static UniqueFd listen_at(const std::filesystem::path& path) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    path.native().copy(place.sun_path, sizeof place.sun_path - 1);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(socket.get(), 64), 0);
    return socket;
  }
  // The next connection to the worker; empty: no connection.
  UniqueFd served() { return UniqueFd(::accept4(worker.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)); }

  static async::Task<void> open_into(std::shared_ptr<EntryResult> result, TunnelParts with, mesh::NodeId to,
                                     mesh::ContentKey what, mesh::PlanTerm of) {
    auto opening = TunnelEntry::open(with, to, what, of);
    *result = co_await std::move(opening);
  }
  std::shared_ptr<EntryResult> begin_open(mesh::PlanTerm of) {
    auto result = std::make_shared<EntryResult>();
    group.spawn("open", open_into(result, parts(a()), b().key.id(), model, of));
    settle();
    return result;
  }
  void open_entry() {
    const auto begun = begin_open(plan);
    ASSERT_TRUE(*begun);
    ASSERT_TRUE(**begun) << (*begun)->error().message;
    entry = std::move(***begun);
  }
  // A connection of the engine; empty: refused.
  UniqueFd connect() {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(port_of(*entry));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) return {};
    settle();
    return socket;
  }
  static std::uint16_t port_of(const TunnelEntry& of) {
    const auto text = of.endpoint();
    return static_cast<std::uint16_t>(std::stoi(text.substr(text.find(':') + 1)));
  }
  void put_all(const UniqueFd& end, std::string_view bytes) {
    for (int turn = 0; turn < 100 && !bytes.empty(); ++turn) {
      bytes.remove_prefix(put(end, bytes));
      if (!bytes.empty()) settle();
    }
    EXPECT_TRUE(bytes.empty());
  }
  struct Pair {
    UniqueFd engine, worker;
  };
  Pair connect_through() {
    Pair pair{connect(), {}};
    put(pair.engine, "hello");
    settle();
    pair.worker = served();
    EXPECT_TRUE(pair.worker);
    EXPECT_EQ(pair.worker ? got(pair.worker) : "", "hello");
    return pair;
  }

  mesh::TestFolder folder;
  UniqueFd worker;
  mesh::ContentKey model;
  mesh::PlanTerm plan{4, 2};
  bool starting = false;
  int asked = 0;
  std::unique_ptr<TunnelAcceptor> door;
  std::unique_ptr<TunnelEntry> entry;
};

}  // namespace corral::fleet
