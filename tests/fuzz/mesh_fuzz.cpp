// What nodes read of each other and of people. The first byte says which reader gets the rest.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "async/loop.h"
#include "fleet/allotment/allot_control.h"
#include "fleet/membership/probe.h"
#include "fleet/tunnels/tunnel.h"
#include "mesh/catalog/choice.h"
#include "mesh/gossip/fake_peers_for_tests.h"
#include "mesh/gossip/gossip.h"
#include "mesh/groups/groups.h"
#include "mesh/link/join_frames.h"
#include "mesh/link/link.h"
#include "mesh/link/member_exchange.h"
#include "mesh/members/join_token.h"
#include "mesh/peers/peer_exchange.h"
#include "mesh/peers/table/peer_file.h"

namespace {

using namespace corral::mesh;

void must(bool holds) {
  if (!holds) std::abort();
}

void read_payload(const Frame& frame) {
  must(frame.payload.size() <= max_bytes(frame.kind));
  switch (frame.kind) {
    case FrameKind::hello:
      (void)decode_hello(frame.payload);
      break;
    case FrameKind::heartbeat: {
      const auto beat = decode_heartbeat(frame.payload);
      must(!beat || decode_heartbeat(encode(*beat)) == *beat);
      break;
    }
    case FrameKind::close:
      must(decode_closing(frame.payload).by_peer);
      break;
    case FrameKind::members:
      (void)PageCollector().take(frame.payload);
      break;
    case FrameKind::join_ask:
      (void)read_ask(frame.payload);
      break;
    case FrameKind::join_admitted:
      (void)read_founding(frame.payload);
      break;
    case FrameKind::join_refused:
      (void)read_refusal(frame.payload);
      break;
    case FrameKind::allot_ask:
      (void)corral::fleet::read_allot_ask(frame.payload);
      break;
    case FrameKind::allot_answer:
      (void)corral::fleet::read_allot_answer(frame.payload);
      break;
    case FrameKind::probe_ask:
      (void)corral::fleet::read_probe_ask(frame.payload);
      break;
    case FrameKind::probe_answer:
      (void)corral::fleet::read_probe_answer(frame.payload);
      break;
    case FrameKind::peer_exchange: {
      const auto exchange = decode_peer_exchange(frame.payload);
      must(!exchange || decode_peer_exchange(encode(*exchange)).has_value());
      break;
    }
    case FrameKind::dial_me:
      (void)decode_dial_me(frame.payload);
      break;
    case FrameKind::grant: {
      const auto message = read_group_message(frame.payload);
      must(!message || read_group_message(to_frame(*message).payload).has_value());
      break;
    }
    case FrameKind::join_proved:
    case FrameKind::heads:
    case FrameKind::pages:
    case FrameKind::ask_pages:
      break;
  }
}

void read_frames(std::string_view bytes) {
  FrameReader reader;
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, 1 + bytes.size() / 2);
    bytes.remove_prefix(part.size());
    if (!reader.put(part)) return;
    while (reader.has_frame()) read_payload(reader.take());
  }
}

void read_heads(std::string_view bytes) {
  ByteReader in(bytes);
  while (!in.rest().empty()) {
    const auto before = in.rest();
    const auto head = decode_head(in);
    if (!head) return;
    std::string again;
    encode(*head, again);
    must(again == before.substr(0, again.size()) && again.size() == encoded_size(*head));
    must(head->page_bytes() <= kMaxStatementBytes);
  }
}

// Whatever a node says, the catalog has each name once, and each name finds its model.
void read_page(std::string_view bytes) {
  const auto half = bytes.substr(0, bytes.size() / 2);
  const auto one = decode_pages({bytes}), other = decode_pages({half});
  if (!one) return;
  must(one->models.size() <= kNodeStateLimits.models && one->serving.size() <= kNodeStateLimits.serving);
  std::vector<KnownNode> nodes(3);
  nodes[0].reach = Reach::own;
  nodes[0].node_state = std::make_shared<const NodeState>();
  nodes[1].id.bytes[0] = 1;
  nodes[1].reach = Reach::linked;
  nodes[1].node_state = std::make_shared<const NodeState>(rounded(*one));
  nodes[2].id.bytes[0] = 2;
  nodes[2].reach = other ? Reach::linked : Reach::away;
  if (other) nodes[2].node_state = std::make_shared<const NodeState>(*other);
  const auto catalog = make_catalog(nodes);
  for (const auto& model : catalog->models()) {
    must(catalog->find(model.name).model == &model);
    const auto choice = choose(*catalog, model, {});
    must(choice.node.has_value() != choice.shortage.has_value());
  }
  const auto pages = encode_pages(*one);
  for (const auto& page : pages) must(page.size() <= kLargestNodeStatePage);
  must(decode_pages({pages.begin(), pages.end()}).has_value());
}

// A peer whose signatures are all good.
void gossip_with(std::string_view bytes) {
  static const auto own = SigningKey::from_seed({1}), peer = SigningKey::from_seed({2});
  corral::async::Loop loop;
  corral::async::ManualTimers timers(loop.executor());
  FakeAir air;
  FakePeers here(air, own.public_key(), {1, {}}), there(air, peer.public_key(), {1, {}});
  here.members = {own.public_key(), peer.public_key()};
  GossipOptions options;
  options.standing = [](const PublicKey&) { return MembershipStatus::member; };
  options.sign = [](Head&) {};
  options.genuine = [](const Head&) { return true; };
  Gossip gossip(here, timers, loop.executor(), own, options);
  here.listen(gossip);
  air.up(here, there);
  gossip.announce({});
  FrameReader reader;
  if (!reader.put(bytes)) return;
  while (reader.has_frame()) {
    gossip.frame(there.own(), reader.take());
    timers.advance(corral::Millis(100));
    gossip.tick();
    air.under_way.clear();
  }
  (void)gossip.catalog();
  must(gossip.store().bytes() <= 8 * kMaxStatementBytes);
}

// The first words of a split's stream, and the answer to them.
void read_tunnel(std::string_view bytes) {
  using namespace corral::fleet;
  const auto length = tunnel_length(bytes, kMaxTunnelAsk);
  must(!length || (*length > 0 && *length <= kMaxTunnelAsk));
  const auto ask = decode_tunnel_ask(bytes);
  must(!ask || decode_tunnel_ask(std::string_view(encode(*ask)).substr(kTunnelHead)) == *ask);
  const auto answer = decode_tunnel_answer(bytes);
  must(answer || answer.error().message.size() <= kMaxTunnelAnswer);
}

// Two members, one of which says anything at all: whoever has this node's memory has a lease that ends.
void group_with(std::string_view bytes) {
  NodeId own, peers[2];
  own.bytes[0] = 1;
  peers[0].bytes[0] = 2;
  peers[1].bytes[0] = 3;
  corral::mesh::BootTime now{};
  Groups groups({.own = own, .epoch = 1, .former = std::nullopt, .seed = 1, .rules = {}}, now);
  groups.lend(~std::uint64_t{0});
  GroupPlan plan;
  plan.split.host = own;
  plan.split.shares = {{peers[0], 1, 1, 1, 1}, {own, 1, 1, 1, 1}};
  (void)groups.want(plan, PlanCause::ordered, now);
  FrameReader reader;
  if (!reader.put(bytes)) return;
  for (std::size_t turn = 0; reader.has_frame(); ++turn) {
    const auto& from = peers[turn % 2];
    groups.link_up(from, turn / 7, now);
    const auto message = read_group_message(reader.take().payload);
    if (message) groups.message(from, *message, now);
    now += kGroupTick;
    groups.tick(now);
    if (turn % 3 == 0) groups.worker_reaped(now);
    (void)groups.take();
    const auto& grant = groups.granter().grant();
    must(!grant || groups.granter().state() == GrantManager::State::reaping || grant->until > now);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 0: {
      const auto token = parse_token(rest);
      must(!token || *parse_token(to_text(*token)) == *token);
      break;
    }
    case 1: {
      const auto set = decode_members(rest);
      must(!set || encode(*set).size() <= rest.size());
      break;
    }
    case 2:
      (void)PageCollector().take(rest);
      break;
    case 3:
      read_frames(rest);
      break;
    case 4: {
      const auto address = parse_address(rest);
      must(!address || *parse_address(to_text(*address)) == *address);
      break;
    }
    case 5: {
      const auto peers = decode_peers(rest);
      must(!peers || encode(*peers).size() <= rest.size());
      break;
    }
    case 6:
      (void)decode_dial_me(rest);
      break;
    case 7:
      gossip_with(rest);
      break;
    case 8:
      read_heads(rest);
      break;
    case 9:
      read_page(rest);
      break;
    case 10:
      group_with(rest);
      break;
    case 11:
      read_tunnel(rest);
      break;
    default:
      break;
  }
  return 0;
}
