#include "mesh/peers/streams/connection_acceptor.h"

#include <algorithm>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/link/join.h"

namespace corral::mesh {

using async::Task;

bool ConnectionAcceptor::is_named(const NodeId& id) const {
  return std::ranges::any_of(configured_, [&](const auto& peer) { return peer.id == id; });
}

Result<> ConnectionAcceptor::may_come(const PublicKey& key, Purpose purpose) const {
  if (parts_.peers.is_stopping()) return fail(errc::link_closed, "this node stops");
  if (!parts_.members.is_member()) return fail(errc::not_a_member, "this node itself is no longer a member");
  const auto now = parts_.peers.timers().wall_now();
  const bool may_join = parts_.tokens.open_count(now) > 0 || is_named(node_id(key));
  return may_enter(parts_.store.set(), may_join, key, purpose);
}

Task<void> ConnectionAcceptor::accept_all(Network& network) {
  while (!parts_.peers.is_stopping()) {
    auto accepting = network.accept();
    auto stream = co_await std::move(accepting);
    if (!stream) co_return;
    take(std::move(*stream));
  }
}

// The stream is authorized.
void ConnectionAcceptor::take(std::unique_ptr<Stream> stream) {
  const auto purpose = stream->purpose();
  if (purpose == Purpose::join) return parts_.peers.run("mesh peers: join", serve_joiner(std::move(stream)));
  const auto peer = parts_.peers.find(stream->peer().id);
  if (!peer || parts_.peers.is_stopping()) return;
  switch (purpose) {
    case Purpose::control:
      return parts_.links.take_caller(peer, std::move(stream));
    case Purpose::http:
    case Purpose::copy:
    case Purpose::rpc:
      return parts_.streams.take(peer, std::move(stream), purpose);
    case Purpose::back:
      return parts_.reverse.take_stream(peer, std::move(stream));
    case Purpose::join:
      return;
  }
}

Task<void> ConnectionAcceptor::serve_joiner(std::unique_ptr<Stream> stream) {
  JoinServiceContext service{own_, parts_.store, parts_.tokens, parts_.peers.timers()};
  service.named = [this](const NodeId& id) { return is_named(id); };
  auto serving = serve_join(std::move(stream), std::move(service));
  const auto admitted = co_await std::move(serving);
  if (admitted) log::info("mesh", "{} has joined", short_text(*admitted));
  // After an error the node may be a member all the same, if only the answer was late.
  if (admitted || parts_.members.has_unsent()) parts_.members.members_changed();
}

}  // namespace corral::mesh
