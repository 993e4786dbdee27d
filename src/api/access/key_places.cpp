#include "api/access/key_places.h"

#include <fmt/format.h>

#include "api/base/errors.h"

namespace corral::api {

Result<std::shared_ptr<const void>> KeyPlaces::enter(const std::string& key, std::uint32_t limit) {
  if (limit == 0 || key.empty()) return nullptr;
  struct Place {
    std::shared_ptr<State> state;
    std::string key;
    MonoTime since;
    bool taken = false;
    ~Place() {
      if (!taken) return;
      const MutexLock lock(state->mutex);
      auto& mine = state->keys.find(key)->second;
      mine.times.ended(state->clock.now() - since);
      mine.since.erase(mine.since.find(since));
    }
  };
  const auto now = state_->clock.now();
  auto place = std::make_shared<Place>(state_, key, now);
  const MutexLock lock(state_->mutex);
  auto& mine = state_->keys[key];
  if (mine.since.size() >= limit) {
    Error error(make_error_code(errc::too_many_requests),
                fmt::format("the key '{}' has {} running requests, its maximum: wait for one of them to end", key,
                            mine.since.size()));
    error.retry_after =
        mine.times.until_free(mine.since.size() - limit + 1, mine.since.size(), now - *mine.since.begin());
    return std::unexpected(std::move(error));
  }
  mine.since.insert(now);
  place->taken = true;
  return place;
}

std::size_t KeyPlaces::held(const std::string& key) const {
  const MutexLock lock(state_->mutex);
  const auto known = state_->keys.find(key);
  return known == state_->keys.end() ? 0 : known->second.since.size();
}

}  // namespace corral::api
