#include "fleet/membership/discovery_loop.h"

#include <algorithm>
#include <set>

namespace corral::fleet {

using async::Task;

namespace {

constexpr Millis kLook{10'000};
constexpr std::size_t kMaxEngines = 32;

}  // namespace

DiscoveryLoop::DiscoveryLoop(async::Executor executor, async::Timers& timers, mesh::Peers& peers,
                             std::unique_ptr<mesh::PeerDiscovery> hints, std::uint16_t engine_port)
    : timers_(timers), peers_(peers), hints_(std::move(hints)), engine_port_(engine_port), tasks_(executor) {}

void DiscoveryLoop::start() {
  tasks_.spawn("mesh: hints", follow());
  tasks_.spawn("mesh: engines of hints", look());
}

Task<void> DiscoveryLoop::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  co_await hints_->stop();
}

void DiscoveryLoop::publish(const std::vector<mesh::Address>& addresses, std::uint64_t epoch) {
  mesh::Hint own{.node = peers_.own(), .addresses = addresses, .epoch = epoch};
  if (own.addresses.size() > mesh::kMaxHintAddresses) own.addresses.resize(mesh::kMaxHintAddresses);
  if (own == published_) return;
  published_ = own;
  hints_->publish(std::move(own));
}

Task<void> DiscoveryLoop::follow() {
  while (true) {
    const auto received = co_await hints_->next();
    for (const auto& hint : received) {
      if (hint.node == peers_.own() || peers_.is_up(hint.node)) continue;
      for (const auto& address : hint.addresses) peers_.hint(hint.node, address);
    }
  }
}

Task<void> DiscoveryLoop::look() {
  while (true) {
    std::set<mesh::Address> engines;
    for (const auto& peer : peers_.view()) {
      if (!peer.addresses.empty()) engines.insert({peer.addresses.front().host, engine_port_});
      if (engines.size() >= kMaxEngines) break;
    }
    if (!engines.empty()) hints_->look_at({engines.begin(), engines.end()});
    co_await timers_.sleep_for(kLook);
  }
}

}  // namespace corral::fleet
