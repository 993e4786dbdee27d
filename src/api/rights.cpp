#include "api/rights.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/errors.h"
#include "dialects/error_teller.h"

namespace corral::api {
namespace {

constexpr std::uint32_t kNobody = 0, kEither = kInference | kAdmin;

// Without the core prefix; the same path at the root is the same route.
constexpr auto kRights = std::to_array<RouteRights>({
    {"GET", "live", kNobody},

    {"POST", "chat/completions", kInference},
    {"POST", "completions", kInference},
    {"POST", "completion", kInference},
    {"POST", "apply-template", kInference},
    {"POST", "embeddings", kInference},
    {"POST", "embedding", kInference},
    {"POST", "rerank", kInference},
    {"POST", "reranking", kInference},
    {"POST", "reranker", kInference},
    {"POST", "tokenize", kInference},
    {"POST", "detokenize", kInference},

    {"GET", "", kEither},
    {"GET", "models", kEither},
    {"GET", "models/{id...}", kEither},
    {"GET", "models/{id...}/options", kEither},
    {"GET", "props", kEither},
    {"GET", "health", kEither},
    {"GET", "stats", kEither},
    {"GET", "events", kEither},
    {"GET", "metrics", kEither},
    {"GET", "slots", kEither},
    // Of others' requests these show, and end, none to who isn't an admin.
    {"GET", "requests", kEither},
    {"POST", "requests/{id}/cancel", kEither},

    {"POST", "load", kAdmin},
    {"POST", "estimate", kAdmin},  // it may start a process, for which loads wait
    {"POST", "unload", kAdmin},
    {"POST", "models/{id...}/options", kAdmin},
    {"DELETE", "models/{id...}/options", kAdmin},
    {"POST", "internal/pin", kAdmin},
    {"POST", "internal/simulate-vram-pressure", kAdmin},
    {"GET", "internal/config", kAdmin},
    {"GET", "internal/config/defaults", kAdmin},
    {"POST", "internal/set", kAdmin},

    // Addresses, names and memory of machines, and who is let in.
    {"GET", "mesh", kAdmin},
    {"POST", "mesh/create", kAdmin},
    {"POST", "mesh/join", kAdmin},
    {"POST", "mesh/leave", kAdmin},
    {"GET", "mesh/tokens", kAdmin},
    {"POST", "mesh/tokens", kAdmin},
    {"DELETE", "mesh/tokens/{id}", kAdmin},
    {"POST", "mesh/revoke", kAdmin},
    {"POST", "mesh/pull", kAdmin},
    {"GET", "mesh/copies", kAdmin},
    {"DELETE", "mesh/copies/{model...}", kAdmin},
    {"GET", "mesh/nodes", kAdmin},
    {"GET", "mesh/models", kAdmin},
    {"GET", "mesh/why/{model...}", kAdmin},
    {"GET", "mesh/doctor", kAdmin},

    {"GET", "internal/keys", kOwner},
    {"POST", "internal/keys", kOwner},
    {"DELETE", "internal/keys/{id}", kOwner},
});

std::string_view without_prefix(std::string_view pattern) {
  for (const std::string_view prefix : {"/api/v1/", "/api/v0/", "/v1/", "/v0/", "/"}) {
    if (pattern.starts_with(prefix)) return pattern.substr(prefix.size());
  }
  return pattern;
}

}  // namespace

const RouteRights* find_rights(std::string_view method, std::string_view pattern) {
  const auto path = without_prefix(pattern);
  const auto row =
      std::ranges::find_if(kRights, [&](const auto& known) { return known.method == method && known.path == path; });
  return row == kRights.end() ? nullptr : &*row;
}

void protect(std::vector<http::Route>& routes) {
  for (auto& route : routes) {
    const auto* const row = find_rights(route.method, route.pattern);
    route.needs = row == nullptr ? kAdmin : row->needs;
  }
}

http::Response refuse_caller(const http::Request& request) {
  if (request.caller.rights != 0) {
    const bool keyless = request.caller.key.empty();
    const Error error(
        make_error_code(errc::insufficient_scope),
        keyless ? fmt::format("{} {} needs a key with the scope admin: make one with corral key create --scope admin",
                              request.head.method, request.head.path())
                : fmt::format(
                      "the key '{}' may not do this: {} {} needs one with another scope, see corral key create --help",
                      request.caller.key, request.head.method, request.head.path()));
    return dialects::error_response(error);
  }
  const Error error(make_error_code(errc::invalid_api_key),
                    "a valid API key is needed: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'; corral key "
                    "create makes one");
  auto response = dialects::error_response(error);
  response.head.headers.set("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace corral::api
