// Streams through a member that both ends reach. The relay pipes bytes of a TLS connection that isn't its own.
#include <fmt/format.h>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/link/join.h"
#include "mesh/peers/core.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kWord{3000};
constexpr Millis kCarry{4000};  // for the relay to reach the other end
constexpr Millis kHandshake{3000};

Task<Result<>> write_all(Stream& stream, std::string bytes) {
  auto written = co_await stream.write(bytes);
  co_return written;
}

Task<void> answer(Stream& stream, RelayAnswer what) {
  std::string byte(1, static_cast<char>(what));
  co_await stream.write(byte);
}

}  // namespace

Task<StreamResult> PeersCore::open_relayed(Ptr core, NodePtr node, NodePtr relay, Purpose purpose) {
  auto making = make_stream(core, relay, Purpose::relay);
  auto made = co_await std::move(making);
  if (!made) co_return made;
  auto carrier = std::move(*made);
  auto asking = write_all(*carrier, encode(RelayWord{RelayWord::Role::carry, node->id}));
  if (auto asked = co_await std::move(asking); !asked) co_return std::unexpected(asked.error());
  auto reading = read_exactly(*carrier, 1);
  const auto answered = co_await async::with_timeout(core->timers, kCarry, std::move(reading));
  if (!answered) co_return fail(errc::timed_out, fmt::format("{} didn't reach it in time", short_text(relay->id)));
  if (!*answered) co_return std::unexpected(answered->error());
  if (static_cast<RelayAnswer>((**answered)[0]) != RelayAnswer::carried) {
    co_return fail(errc::unreachable,
                   fmt::format("{} doesn't relay to {} now", short_text(relay->id), short_text(node->id)));
  }
  if (core->stopping) co_return fail(errc::link_closed, "this node stops");
  auto dialling = core->network->dial_within(std::move(carrier), node->id, purpose);
  auto inner = co_await async::with_timeout(core->timers, kHandshake, std::move(dialling));
  if (!inner) co_return fail(errc::timed_out, fmt::format("{} doesn't answer through the relay", short_text(node->id)));
  co_return std::move(*inner);
}

void PeersCore::take_relay(const NodePtr& node, std::unique_ptr<Stream> stream) {
  if (node->relayed >= kMostRelayed || node->parked >= kMostParked || !node->relays.take(timers.now())) return;
  node->run("mesh peers: relay", hear_relay_word(shared_from_this(), node, std::move(stream)));
}

Task<void> PeersCore::hear_relay_word(Ptr core, NodePtr node, std::unique_ptr<Stream> stream) {
  std::optional<RelayWord> said;
  {
    const Counted counted(node->parked);
    auto reading = read_exactly(*stream, kRelayWordBytes);
    const auto word = co_await async::with_timeout(core->timers, kWord, std::move(reading));
    if (!word || !*word) co_return;
    const auto decoded = decode_relay_word(**word);
    if (!decoded) co_return;
    said = *decoded;
  }
  const auto other = core->find(said->node);
  if (!node->link || !other || other == node) co_return;
  if (said->role == RelayWord::Role::carry && node->relayed >= kMostRelayed) co_return;
  auto task = said->role == RelayWord::Role::carry ? carry_on(core, node, other, std::move(stream))
                                                   : receive_relayed(core, node, std::move(stream));
  co_await std::move(task);
}

// For two others. Ends with the link to either of them, as both streams are closed then.
Task<void> PeersCore::carry_on(Ptr core, NodePtr from, NodePtr to, std::unique_ptr<Stream> stream) {
  const Counted counted(from->relayed);
  if (!to->link) {
    auto saying = answer(*stream, RelayAnswer::not_linked);
    co_await std::move(saying);
    co_return;
  }
  auto making = make_stream(core, to, Purpose::relay);
  auto made = co_await async::with_timeout(core->timers, kCarry, std::move(making));
  if (!from->link) co_return;
  // From here on the end of a link closes its stream, whatever is waited for.
  auto one = core->keep(*from, *from, std::move(stream), Purpose::relay, false);
  std::shared_ptr<Stream> here = std::make_shared<TrackedStream>(std::move(one)), there;
  bool reached = made && *made && to->link;
  if (reached) {
    auto other = core->keep(*to, *to, std::move(**made), Purpose::relay, true);
    there = std::make_shared<TrackedStream>(std::move(other));
    auto telling = write_all(*there, encode(RelayWord{RelayWord::Role::deliver, from->id}));
    const auto told = co_await std::move(telling);
    reached = told && to->link && from->link;
  }
  auto saying = answer(*here, reached ? RelayAnswer::carried : RelayAnswer::refused);
  co_await std::move(saying);
  if (!reached || !to->link || !from->link) co_return;
  auto piping = pipe(std::move(here), std::move(there));
  co_await std::move(piping);
}

// The other end of what a relay carries: TLS says who it really is, and until then the relay alone answers for it.
Task<void> PeersCore::receive_relayed(Ptr core, NodePtr relay, std::unique_ptr<Stream> stream) {
  if (relay->parked >= kMostParked) co_return;
  auto counted = std::make_unique<Counted>(relay->parked);
  const Doorkeeper keeper = [core](const PublicKey& key, Purpose purpose) -> Result<> {
    if (purpose != Purpose::http && purpose != Purpose::copy) {
      return fail(errc::not_a_member, "only requests and copies are relayed");
    }
    return may_enter(core->book.set(), false, key, purpose);
  };
  auto accepting = core->network->accept_within(std::move(stream), keeper);
  auto inner = co_await async::with_timeout(core->timers, kHandshake, std::move(accepting));
  counted.reset();
  if (!inner || !*inner || !relay->link) co_return;
  const auto node = core->find((**inner)->peer().id);
  if (!node) co_return;
  const auto purpose = (**inner)->purpose();
  core->park(node, relay, std::move(**inner), purpose);
}

}  // namespace corral::mesh
