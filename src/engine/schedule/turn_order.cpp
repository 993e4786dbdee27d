#include "engine/schedule/turn_order.h"

#include <algorithm>

namespace corral::engine {
namespace {

constexpr std::uint64_t kTurn = 1024;  // fractions of a turn; more clients than this are treated as so many
constexpr std::uint64_t kBackgroundTurns = 8;
// The lower bits of an order distinguish generations of the same turn; the upper ones last for 2^34 turns.
constexpr unsigned kNumberBits = 20;

std::uint64_t length_of(bool background) { return background ? kBackgroundTurns * kTurn : kTurn; }
// The client's next turn. Background generations go to the end of their turn.
std::uint64_t after(std::uint64_t order, bool background) {
  return (order >> kNumberBits) + (background ? 0 : length_of(false));
}

}  // namespace

std::uint64_t TurnOrder::enter(const std::string& client, bool background) {
  auto& known = clients_.try_emplace({client, background}).first->second;
  const auto first = std::max(known.next, now_);
  const auto turn = background ? first + length_of(true) : first;
  known.next = first + length_of(background);
  if (known.waiting++ == 0) ++waiting_;
  constexpr std::uint64_t kNumbers = std::uint64_t{1} << kNumberBits;
  return turn << kNumberBits | ++number_ % kNumbers;
}

// Compares without a key, since making one would allocate.
TurnOrder::Clients::iterator TurnOrder::find(const std::string& client, bool background) noexcept {
  return std::ranges::find_if(
      clients_, [&](const auto& entry) { return entry.first.second == background && entry.first.first == client; });
}

void TurnOrder::take_one(Clients::iterator client) noexcept {
  if (client == clients_.end() || client->second.waiting == 0) return;
  if (--client->second.waiting == 0) --waiting_;
}

void TurnOrder::began(std::uint64_t order, const std::string& client, bool background) noexcept {
  now_ = std::max(now_, order >> kNumberBits);
  now_ += std::max<std::uint64_t>(kTurn / std::max<std::size_t>(waiting_, 1), 1);
  const auto known = find(client, background);
  if (known != clients_.end()) known->second.served = std::max(known->second.served, after(order, background));
  take_one(known);
  std::erase_if(clients_, [&](const auto& entry) { return entry.second.waiting == 0 && entry.second.next <= now_; });
}

void TurnOrder::left(std::uint64_t order, const std::string& client, bool background) noexcept {
  const auto known = find(client, background);
  if (known == clients_.end()) return;
  if (after(order, background) == known->second.next) known->second.next -= length_of(background);
  take_one(known);
  if (known->second.waiting == 0) known->second.next = known->second.served;
  if (known->second.waiting == 0 && known->second.next <= now_) clients_.erase(known);
}

}  // namespace corral::engine
