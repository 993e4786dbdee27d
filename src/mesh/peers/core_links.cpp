// Links: dialling, greeting, which of two stays, and what comes over them.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/link/stream_link.h"
#include "mesh/peers/core.h"
#include "mesh/peers/link_choice.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kExchange{5000};  // of members
constexpr Millis kReplaced{1000};  // for the link that takes the place of one that the peer ended as superseded

class Flag {
 public:
  explicit Flag(bool& flag) : flag_(flag) { flag_ = true; }
  ~Flag() { flag_ = false; }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

 private:
  bool& flag_;
};

Task<void> wait_until_finished(std::shared_ptr<Link> link) { co_await link->finished(); }

Task<bool> until_replaced(NodePtr node, std::shared_ptr<Link> link) {
  while (node->link == link) co_await node->link_changed.next();
  co_return true;
}

Task<Result<bool>> exchange(PeersCore::Ptr core, NodePtr node, std::shared_ptr<Link> link, Sha256 said) {
  LearnMembers learn = [core, node](std::span<const MemberRecord> records) { return core->learn(*node, records); };
  co_return co_await exchange_members(*link, core->book, said, std::move(learn));
}

}  // namespace

bool PeersCore::wants_link(const Node& node) const {
  if (stopping || node.gone || node.link || node.greeting || timers.now() < node.refused_until) return false;
  return chosen.empty() || chosen.contains(node.id);
}

Task<void> PeersCore::keep_linked(Ptr core, NodePtr node) {
  std::uint64_t beat = 0;
  MonoTime last{};
  while (true) {
    const auto addresses = node->addresses.all();
    if (addresses.empty() || !core->wants_link(*node)) {
      if (core->timers.now() < node->refused_until) {
        co_await core->timers.sleep_until(node->refused_until);
      } else {
        co_await node->stir.next();
      }
      continue;
    }
    // However often it is stirred: a peer that ends each link at once is dialled no faster than one that doesn't
    // answer.
    if (beat > 0 && core->timers.now() < last + core->options.dial.fresh_every) {
      co_await core->timers.sleep_until(last + core->options.dial.fresh_every);
      continue;
    }
    last = core->timers.now();
    const auto gone = std::chrono::duration_cast<Millis>(last - node->fresh_since);
    const auto limit = dial_limit(core->options.dial, gone);
    for (const auto index : dialled_at(beat++, addresses.size())) {
      if (node->dials >= kMostDials || !core->wants_link(*node)) break;
      node->run("mesh peers: dial", dial_once(core, node, addresses[index], limit));
    }
    const double random = std::uniform_real_distribution<double>(0, 1)(core->chance);
    const auto pause = next_beat(core->options.dial, gone, random);
    auto stirred = node->stir.next();
    co_await async::with_timeout(core->timers, pause, std::move(stirred));
  }
}

Task<void> PeersCore::dial_once(Ptr core, NodePtr node, Address address, Millis limit) {
  const Counted counted(node->dials);
  std::vector<NodeId> pins{node->id};
  Place place(address, node->addresses.origin_of(address));
  auto dialling = core->network->dial(std::move(place), std::move(pins), Purpose::control);
  auto stream = co_await async::with_timeout(core->timers, limit, std::move(dialling));
  if (!stream) {
    node->failed(fmt::format("{} didn't answer within {} ms", to_text(address), limit.count()));
    co_return;
  }
  if (!*stream) {
    const auto& error = stream->error();
    node->failed(error.message);
    if (error.code == errc::wrong_peer) node->addresses.is_elsewhere(address);
    co_return;
  }
  // Of dials that overlap one says hello: the other side never sees two.
  if (!core->wants_link(*node)) co_return;
  auto greeting = greet_dialled(core, node, std::move(**stream), std::move(address));
  co_await std::move(greeting);
}

// An address of the configuration without an id: whoever of the members answers there.
Task<void> PeersCore::dial_unnamed(Ptr core, Address address) {
  const auto start = core->timers.now();
  while (!core->stopping) {
    std::vector<NodeId> pins;
    bool linked = false;
    for (const auto& [id, node] : core->nodes) {
      const auto known = node->addresses.all();
      linked |= node->link && std::ranges::find(known, address) != known.end();
      if (core->wants_link(*node)) pins.push_back(id);
    }
    const auto gone = std::chrono::duration_cast<Millis>(core->timers.now() - start);
    const auto limit = dial_limit(core->options.dial, gone);
    if (!linked && !pins.empty()) {
      Place place(address, Origin::settings);
      auto dialling = core->network->dial(std::move(place), std::move(pins), Purpose::control);
      auto stream = co_await async::with_timeout(core->timers, limit, std::move(dialling));
      const auto node = stream && *stream ? core->find((**stream)->peer().id) : nullptr;
      if (node) node->addresses.configured(address);
      if (node && core->wants_link(*node)) {
        // With the node's own tasks: its end is seen there.
        node->run("mesh peers: greet", greet_dialled(core, node, std::move(**stream), address));
      }
    }
    const double random = std::uniform_real_distribution<double>(0, 1)(core->chance);
    const auto pause = next_beat(core->options.dial, gone, random);
    co_await core->timers.sleep_for(pause);
  }
}

Task<void> PeersCore::greet_dialled(Ptr core, NodePtr node, std::unique_ptr<Stream> stream, Address address) {
  {
    const Flag greeting(node->greeting);
    auto greeted = greet(core, node, std::move(stream));
    const auto result = co_await std::move(greeted);
    if (result) {
      node->addresses.proved(address);
      core->remember();
    } else {
      node->failed(result.error().message);
    }
  }
  node->stir.raise();
}

Task<void> PeersCore::greet_caller(Ptr core, NodePtr node, std::unique_ptr<Stream> stream) {
  const Counted counted(node->greeted);
  auto greeted = greet(core, node, std::move(stream));
  const auto result = co_await std::move(greeted);
  if (!result) log::debug("mesh", "{} called: {}", short_text(node->id), result.error().message);
}

Task<Result<>> PeersCore::greet(Ptr core, NodePtr node, std::unique_ptr<Stream> stream) {
  LinkOptions with;
  with.hello = {core->book.set().mesh(), kProtocolMinor, core->book.set().digest(), core->claim, node->claim};
  with.held = [weak = std::weak_ptr(node)] {
    const auto held_for = weak.lock();
    return held_for ? std::vector<HeldId>(held_for->holding.begin(), held_for->holding.end()) : std::vector<HeldId>();
  };
  const auto said = with.hello.members;
  auto opening = open_link(std::move(stream), std::move(with), core->timers);
  auto opened = co_await std::move(opening);
  if (!opened) co_return std::unexpected(opened.error());
  const std::shared_ptr<Link> link = std::move(*opened);
  const auto told = core->book.set().digest();
  const bool exchanges = link->hello().members != said;
  auto exchanging = exchange(core, node, link, said);
  const auto learnt = co_await async::with_timeout(core->timers, kExchange, std::move(exchanging));
  if (!learnt || !*learnt) {
    if (!learnt) link->close(CloseReason::malformed, "it didn't tell its members in time");
    core->bury(link);
    if (!learnt) co_return fail(errc::timed_out, "the peer didn't tell its members in time");
    co_return std::unexpected(learnt->error());
  }
  if (**learnt) core->members_changed();
  const bool all_told = (exchanges ? told : said) == core->book.set().digest();
  core->adopt(node, link, all_told);
  co_return Result<>();
}

void PeersCore::adopt(const NodePtr& node, const std::shared_ptr<Link>& link, bool members_told) {
  if (stopping || node->gone) {
    link->close(node->gone && is_member() ? CloseReason::revoked : CloseReason::stopping);
    return bury(link);
  }
  if (link->closing()) return bury(link);
  const auto identity = [this](const Link& one) {
    return identity_of(own_id, one.peer().id, one.peer().dialled, one.hello().claim.boot);
  };
  const auto before = node->link;
  if (before && !takes_over(identity(*link), identity(*before))) {
    link->close(CloseReason::superseded);
    return bury(link);
  }
  node->link = link;
  node->minor = link->hello().minor;
  ++node->links;
  node->last_failure.clear();
  if (before) {
    before->close(CloseReason::superseded);
    bury(before);
  } else {
    node->since = timers.now();
    node->reaches.clear();
  }
  learn_claim(*node, link->hello().claim);
  if (link->hello().heard) learn_own(*link->hello().heard);
  if (!members_told) {
    for (auto& page : member_pages(book.set())) send(*node, {FrameKind::members, std::move(page)});
  }
  auto told = encode(whereabouts());
  if (told != whereabouts_told) whereabouts_told.clear();
  send(*node, {FrameKind::whereabouts, std::move(told)});
  node->link_changed.raise();
  node->stir.raise();
  node->run("mesh peers: serve", serve(shared_from_this(), node, link));
}

Task<void> PeersCore::serve(Ptr core, NodePtr node, std::shared_ptr<Link> link) {
  core->tell([&](PeerEvents& events) { events.link_up(node->id, link->hello()); });
  core->reach_changed({});
  core->tell_whereabouts();
  FrameBudget budget;
  PageCollector pages;
  while (true) {
    const auto frame = co_await link->receive();
    if (!frame || node->link != link) break;
    if (!budget.take(*frame, core->timers.now())) {
      link->close(CloseReason::overrun, "more frames than a link may carry");
      break;
    }
    const auto taken = core->take_frame(node, pages, *frame);
    if (taken) continue;
    link->close(reason_for(taken.error()), taken.error().message);
    break;
  }
  const auto& why = link->closing();
  if (why && why->by_peer && why->reason == CloseReason::superseded && node->link == link) {
    // The one that stays is on its way: its hello came before this.
    auto replaced = until_replaced(node, link);
    co_await async::with_timeout(core->timers, kReplaced, std::move(replaced));
  }
  core->end_link(node, link);
}

Result<> PeersCore::take_frame(const NodePtr& node, PageCollector& pages, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::members: {
      const auto last = pages.take(frame.payload);
      if (!last) return std::unexpected(last.error());
      if (!*last) return {};
      const auto records = std::exchange(pages, {}).records();
      const auto learnt = learn(*node, records);
      if (!learnt) return std::unexpected(learnt.error());
      if (*learnt) members_changed();
      return {};
    }
    case FrameKind::whereabouts:
      return take_whereabouts(node, frame);
    case FrameKind::dial_me: {
      const auto ask = decode_dial_me(frame.payload);
      if (!ask) return std::unexpected(ask.error());
      if (!*ask || node->asked.size() >= kMostAsked) return {};
      node->asked.push_back(**ask);
      if (!node->answering) node->run("mesh peers: dial back", answer_dial_me(shared_from_this(), node));
      return {};
    }
    default:
      tell([&](PeerEvents& events) { events.frame(node->id, frame); });
      return {};
  }
}

void PeersCore::end_link(const NodePtr& node, const std::shared_ptr<Link>& link) {
  if (node->link != link) return;
  const auto why = *link->closing();
  node->link.reset();
  node->last_end = why;
  node->since = timers.now();
  // Who was told to stay away doesn't dial as if it were wanted.
  const bool unwanted = why.by_peer && (why.reason == CloseReason::revoked || why.reason == CloseReason::stopping);
  node->fresh_since = unwanted ? timers.now() - options.dial.fresh_for : timers.now();
  node->reaches.clear();
  close_streams(*node);
  bury(link);
  log::info("mesh", "the link to {} is down: {}", short_text(node->id), name_of(why.reason));
  tell([&](PeerEvents& events) { events.link_down(node->id, why); });
  reach_changed(why);
  tell_whereabouts();
  node->link_changed.raise();
  node->stir.raise();
}

void PeersCore::bury(std::shared_ptr<Link> link) {
  run("mesh peers: end of a link", wait_until_finished(std::move(link)));
}

void PeersCore::send(Node& node, Frame frame) {
  if (!node.link) return;
  const auto offered = node.link->offer(std::move(frame));
  if (!offered && offered.error().code == errc::overloaded) node.link->close(CloseReason::slow);
}

}  // namespace corral::mesh
