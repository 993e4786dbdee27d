#include "engine/threads/client_quota.h"

#include <algorithm>
#include <utility>

namespace corral::engine {

bool ClientQuota::State::fits(std::uint64_t held, std::uint64_t count) const {
  if (all == held) return held == 0 || held + count <= limit - limit / 8;
  const auto free = limit > all ? limit - all : 0;
  if (held == 0 && (count == 1 || first == First::enters)) return free > 0;
  return held + 2 * count <= free;
}

ClientQuota::Held ClientQuota::enter(const std::string& client, std::uint64_t count, MonoTime now) {
  struct Holding {
    std::shared_ptr<State> state;
    std::string client;
    MonoTime since;
    std::uint64_t count = 0;  // none until it has entered
    ~Holding() {
      if (count == 0) return;
      const MutexLock lock(state->mutex);
      state->all -= count;
      state->times.ended(MonoClock::now() - since);
      const auto found = state->clients.find(client);
      found->second.count -= count;
      found->second.since.erase(found->second.since.find(since));
      if (found->second.count == 0) state->clients.erase(found);
    }
  };
  auto holding = std::make_shared<Holding>(state_, client, now);
  const MutexLock lock(state_->mutex);
  const auto known = state_->clients.find(client);
  if (!state_->fits(known == state_->clients.end() ? 0 : known->second.count, count)) return nullptr;
  auto& entry = known == state_->clients.end() ? state_->clients[client] : known->second;
  entry.since.insert(now);
  entry.count += count;
  state_->all += count;
  holding->count = count;
  return holding;
}

std::uint64_t ClientQuota::held(const std::string& client) const {
  const MutexLock lock(state_->mutex);
  const auto known = state_->clients.find(client);
  return known == state_->clients.end() ? 0 : known->second.count;
}

std::chrono::seconds ClientQuota::until_free(const std::string& client, MonoTime now) const {
  const MutexLock lock(state_->mutex);
  std::size_t held = 0;
  MonoTime oldest = now;
  const auto look_at = [&](const Client& one) {
    held += one.since.size();
    if (!one.since.empty()) oldest = std::min(oldest, *one.since.begin());
  };
  // Its own holds, if it has any; otherwise the holds of all clients.
  if (const auto known = state_->clients.find(client); known != state_->clients.end()) {
    look_at(known->second);
  } else {
    for (const auto& [name, one] : state_->clients) look_at(one);
  }
  return state_->times.until_free(1, held, now - oldest);
}

}  // namespace corral::engine
