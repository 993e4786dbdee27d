// corral-tunnel: the ends of a tunnel as programs, each a node with a real link to the other, and nothing else of a
// server around it. For benchmarks of what a tunnel costs, with engines and workers that somebody else starts.
//
//   corral-tunnel door FOLDER ADDRESS SOCKET            leads to the worker at that Unix socket
//   corral-tunnel entry FOLDER ADDRESS ADDRESS-OF-DOOR  says "entry 127.0.0.1:PORT" when the door's worker listens
//
// Ends with its standard input. The keys are known to everybody: for a network of its own only.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "async/loop.h"
#include "base/log.h"
#include "fleet/tunnels/tunnel_acceptor.h"
#include "fleet/tunnels/tunnel_entry.h"
#include "mesh/net/tls/tls_network.h"
#include "mesh/peers/peer_manager.h"

namespace corral {
namespace {

using async::Task;

mesh::SigningKey key_of(unsigned number) {
  mesh::SigningKey::Seed seed{};
  seed[0] = static_cast<std::uint8_t>(number);
  return mesh::SigningKey::from_seed(seed);
}
const mesh::PlanTerm kPlan{1, 1};

template <typename T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "corral-tunnel: {}\n", result.error().message);
  std::exit(1);
}

// One of the two members that there are.
class Node {
 public:
  Node(async::Loop& loop, unsigned number, const std::filesystem::path& folder, const mesh::Address& at,
       std::vector<mesh::ConfiguredPeer> others)
      : key_(key_of(number)),
        store_(must(mesh::MemberStore::begin(folder, members()))),
        tokens_(must(mesh::JoinTokenStore::open(folder))),
        network_(loop.executor(), key_, timers) {
    mesh::PeerManagerOptions options;
    options.boot = must(mesh::count_boot(folder));
    options.folder = folder;
    options.addresses = {at};
    options.configured = std::move(others);
    peers = std::make_unique<mesh::PeerManager>(loop.executor(), timers, key_, store_, tokens_, std::move(options));
    must(network_.listen(at, peers->authorizer()));
    peers->start(network_);
  }

  async::SystemTimers timers;
  std::unique_ptr<mesh::PeerManager> peers;

 private:
  static mesh::MemberSet members() {
    const auto founder = key_of(1);
    mesh::MemberSet set({founder.public_key(), {}});
    const mesh::MemberRecord record = mesh::sign_admit(founder, set.mesh(), key_of(2).public_key());
    must(set.add({&record, 1}));
    return set;
  }

  const mesh::SigningKey key_;
  mesh::MemberStore store_;
  mesh::JoinTokenStore tokens_;
  mesh::TlsNetwork network_;
};

Task<Result<std::string>> find(std::string socket) { co_return socket; }

Task<void> enter(async::Executor executor, Node& node, std::unique_ptr<fleet::TunnelEntry>& entry) {
  const auto door = key_of(2).id();
  while (!node.peers->is_up(door)) co_await node.timers.sleep_for(Millis(10));
  const fleet::TunnelParts parts{executor, node.timers, *node.peers};
  auto opening = fleet::TunnelEntry::open(parts, door, mesh::ContentKey(), kPlan);
  entry = must(co_await std::move(opening));
  fmt::print("entry {}\n", entry->endpoint());
  std::fflush(stdout);
}

int run(const std::string& role, const std::filesystem::path& folder, const mesh::Address& at, const std::string& to) {
  std::filesystem::create_directories(folder);
  async::Loop loop;
  // Whoever started this has gone, or wants it to: nothing is worth tidying up.
  std::jthread([] {
    while (std::cin.get() != std::char_traits<char>::eof()) {
    }
    ::_exit(0);
  }).detach();
  if (role == "door") {
    Node node(loop, 2, folder, at, {});
    const fleet::TunnelParts parts{loop.executor(), node.timers, *node.peers};
    const fleet::TunnelAcceptor door(parts, [to](auto, auto, auto) { return find(to); });
    fmt::print("door\n");
    std::fflush(stdout);
    loop.run();
  } else {
    Node node(loop, 1, folder, at, {{key_of(2).id(), must(mesh::parse_address(to))}});
    std::unique_ptr<fleet::TunnelEntry> entry;
    async::TaskGroup tasks(loop.executor());
    tasks.spawn("enter", enter(loop.executor(), node, entry));
    loop.run();
  }
  return 0;
}

}  // namespace
}  // namespace corral

int main(int argc, char** argv) {
  const std::string role = argc == 5 ? argv[1] : "";
  if (role != "door" && role != "entry") {
    std::fputs("usage: corral-tunnel door FOLDER ADDRESS SOCKET | entry FOLDER ADDRESS ADDRESS-OF-DOOR\n", stderr);
    return 2;
  }
  return corral::run(role, argv[2], corral::must(corral::mesh::parse_address(argv[3])), argv[4]);
}
