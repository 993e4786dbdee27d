// The rights of callers, and the right that each route needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/handler.h"
#include "http/route_table.h"

namespace corral::api {

// Bits of http::Caller::rights and http::Route::needs.
enum Right : std::uint32_t {
  kInference = 1,  // use models, list them and their state
  kAdmin = 2,      // load and unload models, see and cancel requests of others
  kOwner = 4,      // an admin with a key: manage keys, and name any file of the machine
};

// Rights of every caller if the server requires no key.
inline constexpr std::uint32_t kOpenRights = kInference | kAdmin;

inline bool has(const http::Caller& caller, Right right) { return (caller.rights & right) != 0; }

// The rights of a route, of which the caller needs one; nothing for a route that isn't in the table. `pattern` as in
// the list of routes; all core prefixes are equal.
struct RouteRights {
  std::string_view method, path;
  std::uint32_t needs;  // 0: none
};
const RouteRights* find_rights(std::string_view method, std::string_view pattern);

// Sets the table's rights in the routes; a route that isn't in the table is for admins.
void protect(std::vector<http::Route>& routes);

// For the log: the identifier of the caller's key, or that there is none.
std::string caller_text(const http::Caller& caller);

// 401 for an unknown caller, 403 for one without the right that the path needs.
http::Response refuse_caller(const http::Request& request);

}  // namespace corral::api
