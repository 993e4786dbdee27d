// What a caller may do, and what each route asks for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "http/handler.h"
#include "http/route_table.h"

namespace corral::api {

// Bits of http::Caller::rights and http::Route::needs.
enum Right : std::uint32_t {
  kInference = 1,  // to use models, and to see what there is and how it does
  kAdmin = 2,      // to decide what is in memory and how, to see and end others' requests
  kOwner = 4,      // an admin who has shown a key: to decide who may come in, and to name any file of the machine
};

// Where no key is asked for, everybody on this machine has these.
inline constexpr std::uint32_t kOpenRights = kInference | kAdmin;

inline bool has(const http::Caller& caller, Right right) { return (caller.rights & right) != 0; }

// The rights of which a route wants one; nothing for a route that isn't in the table. `pattern` as in the list of
// routes; the core prefixes mean the same everywhere.
struct RouteRights {
  std::string_view method, path;
  std::uint32_t needs;  // 0: none
};
const RouteRights* find_rights(std::string_view method, std::string_view pattern);

// Puts the table's rights into routes; one that isn't in it is for admins.
void protect(std::vector<http::Route>& routes);

// 401 for a caller whom nobody knows, 403 for one who lacks the right that the path needs.
http::Response refuse_caller(const http::Request& request);

}  // namespace corral::api
