#include "mesh/peers/member_sync.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/link/member_exchange.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kTellEvery{100};
constexpr Millis kRefused{60'000};  // no link with a peer that forged records

}  // namespace

MemberSync::MemberSync(PeerTable& peers, const PublicKey& own, MemberStore& book, PeerFileWriter& file,
                       PeerListeners& listeners, Synced synced)
    : peers_(peers),
      own_(own),
      book_(book),
      file_(file),
      listeners_(listeners),
      synced_(std::move(synced)),
      told_(book.set()) {}

void MemberSync::members_changed() {
  bool revoked = !is_member();
  for (const auto& [id, peer] : peers_.all()) revoked |= book_.set().standing(id) != MembershipStatus::member;
  // Before the end of its link, so that a revoked node gets the record, too.
  if (revoked || peers_.now() - told_at_ >= kTellEvery) {
    tell_news();
  } else if (!std::exchange(due_, true)) {
    peers_.run("mesh peers: send members", tell_news_later());
  }
  sync_table();
  listeners_.tell([](PeerEvents& events) { events.members_changed(); });
}

void MemberSync::tell_news() {
  const auto before = told_.records(), now = book_.set().records();
  std::vector<MemberRecord> news;
  std::ranges::set_difference(now, before, std::back_inserter(news));
  told_ = book_.set();
  told_at_ = peers_.now();
  if (news.empty()) return;
  for (auto& page : member_pages(news)) {
    for (const auto& [id, peer] : peers_.all()) peer->link.send({FrameKind::members, page});
  }
}

Task<void> MemberSync::tell_news_later() {
  co_await peers_.timers().sleep_until(told_at_ + kTellEvery);
  due_ = false;
  tell_news();
}

void MemberSync::tell_all(PeerRecord& peer) const {
  for (auto& page : member_pages(book_.set())) peer.link.send({FrameKind::members, std::move(page)});
}

void MemberSync::sync_table() {
  if (peers_.is_stopping()) return;  // a node that leaves waits for its peers to end the links
  const bool inside = is_member();
  std::vector<PeerPtr> leave;
  for (const auto& [id, peer] : peers_.all()) {
    if (!inside || book_.set().standing(id) != MembershipStatus::member) leave.push_back(peer);
  }
  for (const auto& peer : leave) drop(peer);
  if (!inside) return;
  std::vector<PeerPtr> added;
  for (const auto& key : book_.set().members()) {
    const auto id = node_id(key);
    if (id != peers_.own() && !peers_.find(id)) added.push_back(peers_.add(key));
  }
  synced_(added);
}

void MemberSync::drop(const PeerPtr& peer) {
  if (std::exchange(peer->gone, true)) return;
  const bool revoked = book_.set().standing(peer->id) == MembershipStatus::revoked;
  const Closing why{is_member() ? CloseReason::revoked : CloseReason::stopping, false, {}};
  log::info("mesh", "{} {}", short_text(peer->id), revoked ? "was revoked" : "is no longer a member");
  const auto link = peer->link.release();
  peer->streams.close_all();
  peers_.remove(peer);
  if (link) {
    link->close(why.reason);
    peers_.hold_until_finished(link);
    listeners_.tell([&](PeerEvents& events) { events.link_down(peer->id, why); });
  }
  peer->reverse.give_up();
  listeners_.tell_reach(peers_);
  if (peer->link.was_up()) listeners_.tell([](PeerEvents& events) { events.reach_changed(); });
  file_.remember();
}

Result<bool> MemberSync::learn(PeerRecord& peer, std::span<const MemberRecord> records) {
  const auto now = peers_.now();
  const auto news = book_.set().news_in(records);
  if (!peer.records.take(now, static_cast<double>(news))) {
    return fail(errc::overloaded, fmt::format("{} new member records at once exceed the limit of a peer", news));
  }
  auto learnt = book_.learn(records);
  if (!learnt && learnt.error().code == errc::forged) {
    peer.refused_until = now + kRefused;
    log::warning("mesh", "{} sent a forged member record ({}): no link to it for {} s", short_text(peer.id),
                 learnt.error().message, kRefused.count() / 1000);
    // The records may have come over a link that isn't up yet: end the present one as well.
    if (const auto& link = peer.link.get()) link->close(CloseReason::malformed, learnt.error().message);
  }
  return learnt;
}

}  // namespace corral::mesh
