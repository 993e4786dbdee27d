#include "mesh/peers/link_manager.h"

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/link/stream_link.h"
#include "mesh/peers/streams/frame_budget.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kExchange{5000};       // of members
constexpr Millis kReplaced{1000};       // for the link that replaces one that the peer ended as superseded
constexpr std::size_t kMaxGreeted = 4;  // control streams of one peer that have no link yet

Task<bool> until_replaced(PeerPtr peer, std::shared_ptr<Link> link) {
  while (peer->link.get() == link) co_await peer->link.changed().next();
  co_return true;
}

LinkIdentity identity(const NodeId& own, const Link& link) {
  return identity_of(own, link.peer().id, link.peer().dialled, link.hello().claim.boot);
}

}  // namespace

void LinkManager::take_caller(const PeerPtr& peer, std::unique_ptr<Stream> stream) {
  if (peer->is_refused(parts_.peers.now())) return;
  if (peer->greeted >= kMaxGreeted || !peer->calls.take(parts_.peers.now())) return;
  parts_.peers.run_for(*peer, "mesh peers: greet", greet_caller(peer, std::move(stream)));
}

Task<void> LinkManager::greet_caller(PeerPtr peer, std::unique_ptr<Stream> stream) {
  const Counted counted(peer->greeted);
  auto greeting = greet(peer, std::move(stream));
  const auto greeted = co_await std::move(greeting);
  if (!greeted) log::debug("mesh", "a link dialled by {} failed: {}", short_text(peer->id), greeted.error().message);
}

Task<Result<>> LinkManager::greet(PeerPtr peer, std::unique_ptr<Stream> stream) {
  const auto& store = parts_.store;
  LinkOptions with;
  with.hello = {store.set().mesh(), kProtocolMinor, store.set().digest(), parts_.claims.own(), peer->claim};
  with.held = [weak = std::weak_ptr(peer)] {
    const auto held_for = weak.lock();
    return held_for ? std::vector<InFlightId>(held_for->in_flight.begin(), held_for->in_flight.end())
                    : std::vector<InFlightId>();
  };
  const auto sent_digest = with.hello.members;
  auto opening = open_link(std::move(stream), std::move(with), parts_.peers.timers());
  auto opened = co_await std::move(opening);
  if (!opened) co_return std::unexpected(opened.error());
  const std::shared_ptr<Link> link = std::move(*opened);
  const auto digest = store.set().digest();
  const bool exchanges = link->hello().members != sent_digest;
  auto exchanging = exchange(peer, link, sent_digest);
  const auto learnt = co_await async::with_timeout(parts_.peers.timers(), kExchange, std::move(exchanging));
  if (!learnt || !*learnt) {
    if (!learnt) link->close(CloseReason::malformed, "it didn't send its members in time");
    parts_.peers.hold_until_finished(link);
    if (!learnt) co_return fail(errc::timed_out, "the peer didn't send its members in time");
    co_return std::unexpected(learnt->error());
  }
  if (**learnt) parts_.members.members_changed();
  adopt(peer, link, (exchanges ? digest : sent_digest) == store.set().digest());
  co_return Result<>();
}

Task<Result<bool>> LinkManager::exchange(PeerPtr peer, std::shared_ptr<Link> link, Sha256 digest) {
  LearnMembers learn = [this, peer](std::span<const MemberRecord> records) {
    return parts_.members.learn(*peer, records);
  };
  co_return co_await exchange_members(*link, parts_.store, digest, std::move(learn));
}

void LinkManager::adopt(const PeerPtr& peer, const std::shared_ptr<Link>& link, bool members_sent) {
  auto& peers = parts_.peers;
  if (peers.is_stopping() || peer->gone) {
    link->close(peer->gone && parts_.members.is_member() ? CloseReason::revoked : CloseReason::stopping);
    return peers.hold_until_finished(link);
  }
  if (link->closing()) return peers.hold_until_finished(link);
  const auto& present = peer->link.get();
  if (present && !takes_over(identity(peers.own(), *link), identity(peers.own(), *present))) {
    link->close(CloseReason::superseded);
    return peers.hold_until_finished(link);
  }
  if (auto before = peer->link.replace(link, peers.now())) {
    before->close(CloseReason::superseded);
    peers.hold_until_finished(std::move(before));
  } else {
    peer->reaches.clear();
  }
  take_claims(*peer, link->hello());
  if (!members_sent) parts_.members.send_all(*peer);
  parts_.exchanger.send_to(*peer);
  peer->link.changed().raise();
  peer->stir.raise();
  peers.run_for(*peer, "mesh peers: serve", serve(peer, link));
}

void LinkManager::take_claims(PeerRecord& peer, const Hello& hello) {
  if (EpochClaims::learn(peer, hello.claim)) parts_.file.remember();
  if (!hello.known_claim || !parts_.claims.learn_own(*hello.known_claim)) return;
  parts_.exchanger.publish();
  parts_.listeners.notify([this](PeerEvents& events) { events.epoch_changed(parts_.claims.boot()); });
}

Task<void> LinkManager::serve(PeerPtr peer, std::shared_ptr<Link> link) {
  parts_.listeners.notify([&](PeerEvents& events) { events.link_up(peer->id, link->hello()); });
  parts_.listeners.notify_reach(parts_.peers);
  parts_.exchanger.publish();
  auto taking = take_frames(peer, link);
  co_await std::move(taking);
  const auto& why = link->closing();
  if (why && why->by_peer && why->reason == CloseReason::superseded && peer->link.get() == link) {
    // The other link comes up soon: its hello came before this end.
    auto replaced = until_replaced(peer, link);
    co_await async::with_timeout(parts_.peers.timers(), kReplaced, std::move(replaced));
  }
  end_link(peer, link);
}

// Until the link ends, or another one replaces it.
Task<void> LinkManager::take_frames(PeerPtr peer, std::shared_ptr<Link> link) {
  FrameBudget budget;
  PageCollector pages;
  while (true) {
    const auto frame = co_await link->receive();
    if (!frame || peer->link.get() != link) co_return;
    if (!budget.take(*frame, parts_.peers.now())) {
      link->close(CloseReason::overrun, "too many frames a second");
      co_return;
    }
    const auto taken = take_frame(peer, pages, *frame);
    if (taken) continue;
    link->close(reason_for(taken.error()), taken.error().message);
    co_return;
  }
}

Result<> LinkManager::take_frame(const PeerPtr& peer, PageCollector& pages, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::members:
      return take_members(*peer, pages, frame);
    case FrameKind::peer_exchange: {
      auto taken = parts_.exchanger.take(*peer, frame);
      if (taken) parts_.opener.refill();
      return taken;
    }
    case FrameKind::dial_me:
      return parts_.reverse.take_request(peer, frame);
    default:
      parts_.listeners.notify([&](PeerEvents& events) { events.frame(peer->id, frame); });
      return {};
  }
}

Result<> LinkManager::take_members(PeerRecord& peer, PageCollector& pages, const Frame& frame) {
  const auto last = pages.take(frame.payload);
  if (!last) return std::unexpected(last.error());
  if (!*last) return {};
  const auto records = std::exchange(pages, {}).records();
  const auto learnt = parts_.members.learn(peer, records);
  if (!learnt) return std::unexpected(learnt.error());
  if (*learnt) parts_.members.members_changed();
  return {};
}

void LinkManager::end_link(const PeerPtr& peer, const std::shared_ptr<Link>& link) {
  if (peer->link.get() != link) return;
  const auto why = *link->closing();
  const auto now = parts_.peers.now();
  // After `revoked` or `stopping` from the peer, don't dial it often.
  const bool unwanted = why.by_peer && (why.reason == CloseReason::revoked || why.reason == CloseReason::stopping);
  peer->link.end(why, now, unwanted ? now - dial_.fresh_for : now);
  peer->reaches.clear();
  peer->streams.close_all();
  parts_.peers.hold_until_finished(link);
  log::info("mesh", "the link to {} is down: {}", short_text(peer->id), name_of(why.reason));
  parts_.listeners.notify([&](PeerEvents& events) { events.link_down(peer->id, why); });
  parts_.listeners.notify_reach(parts_.peers);
  parts_.exchanger.publish();
  peer->link.changed().raise();
  peer->stir.raise();
}

}  // namespace corral::mesh
