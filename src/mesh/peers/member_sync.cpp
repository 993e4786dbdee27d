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

constexpr Millis kSendInterval{100};
constexpr Millis kRefused{60'000};  // no link with a peer that forged records

}  // namespace

MemberSync::MemberSync(PeerTable& peers, const PublicKey& own, MemberStore& store, PeerFileWriter& file,
                       PeerListeners& listeners, Synced synced)
    : peers_(peers),
      own_(own),
      store_(store),
      file_(file),
      listeners_(listeners),
      synced_(std::move(synced)),
      sent_(store.set()) {}

void MemberSync::members_changed() {
  bool revoked = !is_member();
  for (const auto& [id, peer] : peers_.all()) revoked |= store_.set().standing(id) != MembershipStatus::member;
  // Before the end of its link, so that a revoked node gets the record, too.
  if (revoked || peers_.now() - sent_at_ >= kSendInterval) {
    send_changes();
  } else if (!std::exchange(due_, true)) {
    peers_.run("mesh peers: send members", send_changes_later());
  }
  sync_table();
  listeners_.notify([](PeerEvents& events) { events.members_changed(); });
}

void MemberSync::send_changes() {
  const auto before = sent_.records(), now = store_.set().records();
  std::vector<MemberRecord> added;
  std::ranges::set_difference(now, before, std::back_inserter(added));
  sent_ = store_.set();
  sent_at_ = peers_.now();
  if (added.empty()) return;
  for (auto& page : member_pages(added)) {
    for (const auto& [id, peer] : peers_.all()) peer->link.send({FrameKind::members, page});
  }
}

Task<void> MemberSync::send_changes_later() {
  co_await peers_.timers().sleep_until(sent_at_ + kSendInterval);
  due_ = false;
  send_changes();
}

void MemberSync::send_all(PeerRecord& peer) const {
  for (auto& page : member_pages(store_.set())) peer.link.send({FrameKind::members, std::move(page)});
}

void MemberSync::sync_table() {
  if (peers_.is_stopping()) return;  // a node that leaves waits for its peers to end the links
  const bool inside = is_member();
  std::vector<PeerPtr> leave;
  for (const auto& [id, peer] : peers_.all()) {
    if (!inside || store_.set().standing(id) != MembershipStatus::member) leave.push_back(peer);
  }
  for (const auto& peer : leave) drop(peer);
  if (!inside) return;
  std::vector<PeerPtr> added;
  for (const auto& key : store_.set().members()) {
    const auto id = node_id(key);
    if (id != peers_.own() && !peers_.find(id)) added.push_back(peers_.add(key));
  }
  synced_(added);
}

void MemberSync::drop(const PeerPtr& peer) {
  if (std::exchange(peer->gone, true)) return;
  const bool revoked = store_.set().standing(peer->id) == MembershipStatus::revoked;
  const Closing why{is_member() ? CloseReason::revoked : CloseReason::stopping, false, {}};
  log::info("mesh", "{} {}", short_text(peer->id), revoked ? "was revoked" : "is no longer a member");
  const auto link = peer->link.release();
  peer->streams.close_all();
  peers_.remove(peer);
  if (link) {
    link->close(why.reason);
    peers_.hold_until_finished(link);
    listeners_.notify([&](PeerEvents& events) { events.link_down(peer->id, why); });
  }
  peer->reverse.give_up();
  listeners_.notify_reach(peers_);
  if (peer->link.was_up()) listeners_.notify([](PeerEvents& events) { events.reach_changed(); });
  file_.remember();
}

Result<bool> MemberSync::learn(PeerRecord& peer, std::span<const MemberRecord> records) {
  const auto now = peers_.now();
  const auto added = store_.set().count_new(records);
  if (!peer.records.take(now, static_cast<double>(added))) {
    return fail(errc::overloaded, fmt::format("{} new member records at once exceed the limit of a peer", added));
  }
  auto learnt = store_.learn(records);
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
