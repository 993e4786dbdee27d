#include "engine/threads/shares.h"

#include <utility>

namespace corral::engine {

bool Shares::State::fits(std::uint64_t held, std::uint64_t count) const {
  if (all == held) return held == 0 || held + count <= limit - limit / 8;
  const auto free = limit > all ? limit - all : 0;
  if (held == 0 && (count == 1 || first == First::enters)) return free > 0;
  return held + 2 * count <= free;
}

Shares::Held Shares::enter(const std::string& client, std::uint64_t count) {
  struct Holding {
    std::shared_ptr<State> state;
    std::string client;
    std::uint64_t count = 0;  // none until it has entered
    ~Holding() {
      if (count == 0) return;
      const std::scoped_lock lock(state->mutex);
      state->all -= count;
      const auto found = state->clients.find(client);
      found->second -= count;
      if (found->second == 0) state->clients.erase(found);
    }
  };
  auto holding = std::make_shared<Holding>(state_, client);
  const std::scoped_lock lock(state_->mutex);
  const auto known = state_->clients.find(client);
  if (!state_->fits(known == state_->clients.end() ? 0 : known->second, count)) return nullptr;
  state_->clients[client] += count;
  state_->all += count;
  holding->count = count;
  return holding;
}

std::uint64_t Shares::held(const std::string& client) const {
  const std::scoped_lock lock(state_->mutex);
  const auto known = state_->clients.find(client);
  return known == state_->clients.end() ? 0 : known->second;
}

}  // namespace corral::engine
