#include "api/access/sharing.h"

#include <array>

#include "base/text.h"

namespace corral::api {
namespace {

constexpr std::array<std::string_view, 5> kSessionNames{"x-session-affinity", "x-session-id", "session-id",
                                                        "session_id", "x-conversation-id"};

// Members of a structured dictionary; the last one of a name is used.
bool asks_for_background(std::string_view priority) {
  bool background = false;
  while (!priority.empty()) {
    const auto end = priority.find(',');
    const auto member = trimmed(priority.substr(0, end), kBlanksInLine);
    if (member.starts_with("u=")) background = member == "u=7";
    priority = end == std::string_view::npos ? std::string_view() : priority.substr(end + 1);
  }
  return background;
}

config::KeyTerms terms_of(const AccessContext& context, const http::Caller& caller) {
  return context.keys != nullptr && !caller.key.empty() ? context.keys->table()->terms(caller.key) : config::KeyTerms();
}

}  // namespace

bool in_background(const AccessContext& context, const http::Request& request) {
  return terms_of(context, request.caller).background || asks_for_background(request.head.headers.get("Priority"));
}

Result<std::shared_ptr<const void>> place_of(AccessContext& context, const http::Caller& caller) {
  const auto own = terms_of(context, caller).max_in_flight;
  return context.places.enter(caller.key, own > 0 ? own : context.max_in_flight_per_key);
}

std::string_view session_of(const http::Headers& headers) {
  for (const auto name : kSessionNames) {
    if (const auto value = headers.get(name); !value.empty()) return value;
  }
  return {};
}

}  // namespace corral::api
