// Nodes whose links are queues in memory: frames are delivered one by one, when the test says so. For tests of gossip,
// and for simulations of so many nodes that real links would be too many.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "mesh/identity/errors.h"
#include "mesh/peers/peers.h"

namespace corral::mesh {

class FakePeers;

// All nodes of a test.
class FakeAir {
 public:
  struct Message {
    FakePeers* from;
    FakePeers* to;
    Frame frame;
  };

  inline void up(FakePeers& a, FakePeers& b);
  inline void down(FakePeers& a, FakePeers& b);
  // False if no frame is in transit.
  inline bool deliver_one();
  void deliver_all() {
    while (deliver_one()) {
    }
  }
  // Called for each frame; false: it is lost (a peer that doesn't answer).
  std::function<bool(const Message&)> filter;
  std::deque<Message> under_way;
  std::uint64_t delivered = 0;
};

class FakePeers final : public Peers {
 public:
  FakePeers(FakeAir& air, const PublicKey& key, const Boot& boot)
      : air_(air), key_(key), own_(node_id(key)), boot_(boot) {}

  void listen(PeerEvents& events) override { events_ = &events; }
  void forget(PeerEvents&) override { events_ = nullptr; }
  const NodeId& own() const override { return own_; }
  const Boot& boot() const override { return boot_; }
  std::vector<PeerView> view() const override {
    std::vector<PeerView> views;
    for (const auto& key : members) {
      if (key == key_) continue;
      PeerView view;
      view.id = node_id(key);
      view.key = key;
      view.state = linked.contains(view.id) ? PeerState::up : PeerState::waiting;
      view.since = since;
      views.push_back(std::move(view));
    }
    std::ranges::sort(views, {}, &PeerView::id);
    return views;
  }
  bool is_up(const NodeId& peer) const override { return linked.contains(peer); }
  void send(const NodeId& peer, Frame frame) override {
    const auto found = linked.find(peer);
    if (found != linked.end()) air_.under_way.push_back({this, found->second, std::move(frame)});
  }
  async::Task<Result<std::unique_ptr<Stream>>> open(NodeId, Purpose) override { co_return fail(errc::unreachable, ""); }
  void on_stream(Purpose, StreamHandler) override {}
  std::vector<InFlightId> listed_by(const NodeId&) const override { return {}; }
  std::optional<MonoTime> last_heartbeat(const NodeId&) const override { return {}; }
  void hold(const NodeId&, InFlightId) override {}
  void release(const NodeId&, InFlightId) override {}
  void hint(const NodeId&, const Address&) override {}
  bool take_load(const NodeId&) override { return true; }

  Hello hello() const {
    Hello hello;
    hello.claim.author = key_;
    hello.claim.boot = boot_;
    return hello;
  }
  const PublicKey& key() const { return key_; }
  PeerEvents* events() const { return events_; }

  std::vector<PublicKey> members;
  std::map<NodeId, FakePeers*> linked;
  MonoTime since{};  // start of the present state of all links

 private:
  FakeAir& air_;
  PublicKey key_;
  NodeId own_;
  Boot boot_;
  PeerEvents* events_ = nullptr;
};

inline void FakeAir::up(FakePeers& a, FakePeers& b) {
  a.linked[b.own()] = &b;
  b.linked[a.own()] = &a;
  for (auto [self, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!self->events()) continue;
    self->events()->link_up(other->own(), other->hello());
    self->events()->reach_changed();
  }
}

inline void FakeAir::down(FakePeers& a, FakePeers& b) {
  if (a.linked.erase(b.own()) == 0) return;
  b.linked.erase(a.own());
  std::erase_if(under_way, [&](const Message& message) {
    return (message.from == &a && message.to == &b) || (message.from == &b && message.to == &a);
  });
  for (auto [self, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!self->events()) continue;
    self->events()->link_down(other->own(), {CloseReason::lost, false, {}});
    self->events()->reach_changed();
  }
}

inline bool FakeAir::deliver_one() {
  if (under_way.empty()) return false;
  auto message = std::move(under_way.front());
  under_way.pop_front();
  if (filter && !filter(message)) return true;
  ++delivered;
  if (message.to->events()) message.to->events()->frame(message.from->own(), message.frame);
  return true;
}

}  // namespace corral::mesh
