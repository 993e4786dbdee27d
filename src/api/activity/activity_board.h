// Running inference requests: the fields of GET requests that the router doesn't know.
//
// On any loop; a lock guards the list and is held only for a lookup.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace corral::api {

class ActivityNote;

class ActivityBoard {
 public:
  using Notes = std::multimap<std::string, const ActivityNote*, std::less<>>;
  using Place = Notes::iterator;

  Place add(const ActivityNote& note);
  void remove(Place place);

  struct Seen {
    std::string dialect, client;
    std::int64_t pieces = 0;  // of a stream so far: usually one token each, sometimes several
    std::optional<std::int64_t> first_token_ms = {};
  };
  // The request with this identifier and key.
  std::optional<Seen> find(std::string_view request, std::string_view owner) const;

 private:
  mutable Mutex mutex_;
  Notes notes_ GUARDED_BY(mutex_);  // by identifier, which several requests may have if clients choose it
};

}  // namespace corral::api
