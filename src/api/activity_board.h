// The inference requests under way: what GET requests says of them beside what the router knows.
//
// On any loop; a lock guards the list and is held for looking something up only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/context.h"
#include "http/route_table.h"

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
    std::int64_t pieces = 0;  // of a stream so far: each is a token as a rule, and some are several
    std::optional<std::int64_t> first_token_ms = {};
  };
  // The request of that identifier and key.
  std::optional<Seen> find(std::string_view request, std::string_view owner) const;

 private:
  mutable std::mutex mutex_;
  Notes notes_;  // by identifier, which isn't a request's alone where clients may choose it
};

// With the board that both share; those of routes.h have one of their own.
void add_inference(std::vector<http::Route>& routes, ApiContext& context, std::shared_ptr<ActivityBoard> board);
void add_requests(std::vector<http::Route>& routes, ApiContext& context, std::shared_ptr<ActivityBoard> board);
// admin/activity.cpp; there must be a store.
void add_activity(std::vector<http::Route>& routes, ApiContext& context);

}  // namespace corral::api
