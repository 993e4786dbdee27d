// Streams for requests and files: those that wait for their use, new ones, and those that come.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"
#include "mesh/link/join.h"
#include "mesh/peers/core.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kOpen{5000};
constexpr Millis kStraight{1500};
constexpr Millis kAsked{2500};
constexpr Millis kFirstWord{3000};
constexpr Millis kLinkBehind{3000};    // a stream may come before its link is up at this side
constexpr Millis kNotDialable{60000};  // a peer that never answered: it is asked to dial us instead
constexpr Millis kNotNow{5000};        // one that has answered before
constexpr Millis kIdle{60000};         // that a stream waits for another use
constexpr Millis kTidy{10000};
constexpr Millis kRefillAfter{100};      // a handshake must not take the time of the request that has just begun
constexpr std::size_t kSpare = 2;        // http streams that wait, for each peer
constexpr std::size_t kMostRefills = 4;  // at a time
constexpr std::size_t kMostTried = 3;    // addresses, for one stream

Task<bool> until_link(NodePtr node) {
  while (!node->link) co_await node->link_changed.next();
  co_return true;
}

Task<bool> until_arrived(std::shared_ptr<Expected> expected) {
  while (!expected->stream && !expected->given_up) co_await expected->arrived.next();
  co_return expected->stream != nullptr;
}

std::unexpected<Error> no_way(const Node& node) {
  auto text = fmt::format("there is no link to {}", short_text(node.id));
  if (!node.last_failure.empty()) text += fmt::format(" ({})", node.last_failure);
  return fail(errc::unreachable, std::move(text));
}

// A peer whose link is up answers soon, or not at that address.
Millis straight_limit(const Node& node) {
  const auto trip = node.link ? node.link->round_trip().value_or(Millis(0)) : Millis(0);
  return std::clamp(6 * trip, kStraight / 3, kStraight);
}

Task<void> refill_later(PeersCore::Ptr core) {
  co_await core->timers.sleep_for(kRefillAfter);
  core->refill_due = false;
  core->refill();
}

struct Forget {
  ~Forget() { node->expected.erase(number); }
  NodePtr node;
  std::uint64_t number;
};

}  // namespace

// What came to us and the doorkeeper let pass.
void PeersCore::take_stream(std::unique_ptr<Stream> stream) {
  const auto node = find(stream->peer().id);
  if (!node || stopping) return;
  switch (stream->purpose()) {
    case Purpose::control:
      if (timers.now() < node->refused_until) return;
      if (node->greeted >= kMostGreeted || !node->calls.take(timers.now())) return;
      node->run("mesh peers: greet", greet_caller(shared_from_this(), node, std::move(stream)));
      return;
    case Purpose::http:
    case Purpose::copy:
    case Purpose::rpc: {
      const auto purpose = stream->purpose();
      return park(node, std::move(stream), purpose);
    }
    case Purpose::back:
      if (node->parked >= kMostParked) return;
      node->run("mesh peers: take back", take_back(shared_from_this(), node, std::move(stream)));
      return;
    case Purpose::join:
      return;
  }
}

BodyPtr PeersCore::keep(Node& node, std::unique_ptr<Stream> stream, Purpose purpose, bool by_us) {
  auto body = std::make_shared<StreamBody>();
  body->inner = std::move(stream);
  body->purpose = purpose;
  body->by_us = by_us;
  body->traffic = node.traffic;
  std::erase_if(node.streams, [](const auto& weak) { return weak.expired(); });
  node.streams.push_back(body);
  return body;
}

void PeersCore::close_streams(Node& node) {
  node.idle.clear();
  for (const auto& weak : std::exchange(node.streams, {})) {
    if (const auto body = weak.lock()) body->inner->close();
  }
}

// A stream that the peer opened: its handler gets it with the first byte, as it may be one that waits for its use.
void PeersCore::park(const NodePtr& node, std::unique_ptr<Stream> stream, Purpose purpose) {
  if (node->parked >= kMostParked) return;
  auto body = keep(*node, std::move(stream), purpose, false);
  node->run("mesh peers: waiting stream", wait_for_use(shared_from_this(), node, std::move(body)));
}

Task<void> PeersCore::wait_for_use(Ptr core, NodePtr node, BodyPtr body) {
  const Counted counted(node->parked);
  if (!node->link) {
    auto link = until_link(node);
    const auto came = co_await async::with_timeout(core->timers, kLinkBehind, std::move(link));
    if (!came) co_return;
  }
  auto reading = body->inner->readable();
  const auto there = co_await std::move(reading);
  if (!there || !*there) co_return;
  const auto slots = node->from[body->purpose];
  while (slots->full()) co_await slots->freed.next();
  const auto handler = core->handlers.find(body->purpose);
  if (handler == core->handlers.end() || !handler->second) co_return;
  body->slot = std::make_shared<Slot>(slots);
  const auto take = handler->second;
  take(std::make_unique<TrackedStream>(std::move(body)));
}

Task<StreamResult> PeersCore::open(Ptr core, NodeId id, Purpose purpose) {
  if (core->ended) co_return fail(errc::link_closed, "this node stops");
  const auto node = core->find(id);
  if (!node || core->stopping) {
    const bool revoked = core->book.set().standing(id) == Standing::revoked;
    co_return fail(revoked ? errc::revoked : errc::unreachable,
                   fmt::format("{} {}", short_text(id), revoked ? "was thrown out" : "isn't a member that is known"));
  }
  const auto slots = node->to.find(purpose);
  if (slots == node->to.end())
    co_return fail(errc::unreachable, "streams are opened for requests, copies and splits only");
  if (slots->second->full()) {
    co_return fail(errc::overloaded,
                   fmt::format("{} streams to {} are in use, which is the most", slots->second->most, short_text(id)));
  }
  auto slot = std::make_shared<Slot>(slots->second);
  auto& idle = node->idle[purpose];
  while (!idle.empty()) {
    auto body = std::move(idle.back());
    idle.pop_back();
    if (!body->inner->is_quiet()) continue;
    body->slot = std::move(slot);
    core->refill_soon(*node);
    co_return std::make_unique<TrackedStream>(std::move(body));
  }
  if (!node->link) co_return no_way(*node);
  auto making = make_stream(core, node, purpose);
  auto made = co_await async::with_timeout(core->timers, kOpen, std::move(making));
  if (!made) co_return fail(errc::timed_out, fmt::format("no stream to {} came about in time", short_text(id)));
  if (!*made) co_return std::unexpected(made->error());
  if (node->gone || !node->link) co_return fail(errc::link_closed, "the link ended meanwhile");
  auto body = keep(*node, std::move(**made), purpose, true);
  body->slot = std::move(slot);
  core->refill_soon(*node);
  co_return std::make_unique<TrackedStream>(std::move(body));
}

Task<StreamResult> PeersCore::make_stream(Ptr core, NodePtr node, Purpose purpose) {
  auto addresses = node->addresses.all();
  if (!addresses.empty() && core->timers.now() >= node->not_dialable_until) {
    auto dialling = dial_straight(core, node, std::move(addresses), purpose);
    auto straight = co_await async::with_timeout(core->timers, kStraight, std::move(dialling));
    if (straight && *straight) co_return std::move(*straight);
    if (straight && straight->error().code == errc::revoked) co_return std::move(*straight);
    node->not_dialable_until = core->timers.now() + (node->addresses.proven() ? kNotNow : kNotDialable);
  }
  auto asking = ask_to_dial(core, node, purpose);
  auto asked = co_await std::move(asking);
  co_return asked;
}

Task<StreamResult> PeersCore::dial_straight(Ptr core, NodePtr node, std::vector<Address> addresses, Purpose purpose) {
  StreamResult last = fail(errc::unreachable, fmt::format("{} said no address", short_text(node->id)));
  if (addresses.size() > kMostTried) addresses.resize(kMostTried);
  for (const auto& address : addresses) {
    if (core->stopping) break;
    std::vector<NodeId> pins{node->id};
    Place place(address, node->addresses.origin_of(address));
    auto dialling = core->network->dial(std::move(place), std::move(pins), purpose);
    auto dialled = co_await async::with_timeout(core->timers, straight_limit(*node), std::move(dialling));
    if (!dialled) continue;
    last = std::move(*dialled);
    if (last) {
      node->addresses.proved(address);
      break;
    }
    if (last.error().code == errc::wrong_peer) node->addresses.is_elsewhere(address);
  }
  co_return last;
}

Task<StreamResult> PeersCore::ask_to_dial(Ptr core, NodePtr node, Purpose purpose) {
  const auto expected = std::make_shared<Expected>(core->executor);
  const std::uint64_t number = core->chance();
  node->expected[number] = expected;
  const Forget forget{node, number};
  core->send(*node, {FrameKind::dial_me, encode(DialMe{number, purpose})});
  auto arriving = until_arrived(expected);
  const auto arrived = co_await async::with_timeout(core->timers, kAsked, std::move(arriving));
  if (!arrived || !*arrived) {
    co_return fail(errc::unreachable, fmt::format("{} can't be dialled from here, and didn't dial when it was asked",
                                                  short_text(node->id)));
  }
  co_return std::move(expected->stream);
}

// A peer dialled because we asked: it says the number of what we asked for.
Task<void> PeersCore::take_back(Ptr core, NodePtr node, std::unique_ptr<Stream> stream) {
  const Counted counted(node->parked);
  constexpr std::size_t kNumber = 8;
  auto reading = read_exactly(*stream, kNumber);
  const auto word = co_await async::with_timeout(core->timers, kFirstWord, std::move(reading));
  if (!word || !*word) co_return;
  const auto number = ByteReader(**word).number<std::uint64_t>();
  const auto found = node->expected.find(number);
  if (found == node->expected.end() || found->second->stream) co_return;
  found->second->stream = std::move(stream);
  found->second->arrived.raise();
}

// The peer asked to be dialled. One dial at a time, and only where that peer itself says it is, with its key pinned.
Task<void> PeersCore::answer_dial_me(Ptr core, NodePtr node) {
  const Counted answering(node->answering);
  while (!node->asked.empty()) {
    const auto ask = node->asked.front();
    node->asked.pop_front();
    auto addresses = node->addresses.first_hand();
    auto dialling = dial_straight(core, node, std::move(addresses), Purpose::back);
    auto dialled = co_await async::with_timeout(core->timers, kStraight, std::move(dialling));
    if (!dialled || !*dialled || !node->link) continue;
    std::string number;
    ByteWriter(number).number<std::uint64_t>(ask.number);
    auto writing = (**dialled)->write(number);
    const auto written = co_await std::move(writing);
    if (!written) continue;
    core->park(node, std::move(**dialled), ask.purpose);
  }
}

void PeersCore::give_back(std::unique_ptr<Stream> stream) {
  auto* ours = dynamic_cast<TrackedStream*>(stream.get());
  if (!ours) return;
  const auto node = find(ours->peer().id);
  const auto purpose = ours->purpose();
  if (!node || !node->link || !ours->is_quiet() || node->idle[purpose].size() >= kMostIdle) return;
  auto body = std::move(*ours).release();
  if (!body->by_us) return;
  body->idle_since = timers.now();
  node->idle[purpose].push_back(std::move(body));
}

// Each peer that is up has a stream waiting, so that a request need not wait for a handshake.
void PeersCore::refill() {
  for (const auto& [id, node] : nodes) {
    if (refills >= kMostRefills || stopping) return;
    if (!node->link || node->refilling || node->idle[Purpose::http].size() >= kSpare) continue;
    if (timers.now() < node->refill_after) continue;
    node->run("mesh peers: spare stream", refill_one(shared_from_this(), node));
  }
}

void PeersCore::refill_soon(Node& node) {
  node.refill_after = std::max(node.refill_after, timers.now() + kRefillAfter);
  if (!std::exchange(refill_due, true)) run("mesh peers: spare streams", refill_later(shared_from_this()));
}

Task<void> PeersCore::refill_one(Ptr core, NodePtr node) {
  {
    const Counted counted(core->refills), refilling(node->refilling);
    auto making = make_stream(core, node, Purpose::http);
    auto made = co_await async::with_timeout(core->timers, kOpen, std::move(making));
    if (made && *made && node->link && !node->gone) {
      auto body = keep(*node, std::move(**made), Purpose::http, true);
      body->idle_since = core->timers.now();
      node->idle[Purpose::http].push_front(std::move(body));
    } else {
      node->refill_after = core->timers.now() + kTidy;
    }
  }
  core->refill();
}

Task<void> PeersCore::tidy(Ptr core) {
  while (!core->stopping) {
    co_await core->timers.sleep_for(kTidy);
    const auto now = core->timers.now();
    for (const auto& [id, node] : core->nodes) {
      for (auto& [purpose, idle] : node->idle) {
        std::erase_if(idle, [](const BodyPtr& body) { return !body->inner->is_quiet(); });
        const std::size_t keep = purpose == Purpose::http ? kSpare : 0;
        while (idle.size() > keep && now - idle.front()->idle_since >= kIdle) idle.pop_front();
      }
    }
    core->refill();
  }
}

}  // namespace corral::mesh
