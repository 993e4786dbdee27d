#include "api/activity/activity_board.h"

#include "api/activity/activity_note.h"

namespace corral::api {

ActivityBoard::Place ActivityBoard::add(const ActivityNote& note) {
  const MutexLock lock(mutex_);
  return notes_.emplace(note.request_, &note);
}

void ActivityBoard::remove(Place place) {
  const MutexLock lock(mutex_);
  notes_.erase(place);
}

std::optional<ActivityBoard::Seen> ActivityBoard::find(std::string_view request, std::string_view owner) const {
  const MutexLock lock(mutex_);
  for (auto [at, end] = notes_.equal_range(request); at != end; ++at) {
    const ActivityNote& note = *at->second;
    if (note.owner_ != owner) continue;
    Seen seen{.dialect = note.dialect_, .client = note.client_, .pieces = note.pieces_.load()};
    if (const auto first = note.first_token_ms_.load(); first >= 0) seen.first_token_ms = first;
    return seen;
  }
  return std::nullopt;
}

}  // namespace corral::api
