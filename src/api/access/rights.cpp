#include "api/access/rights.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/base/errors.h"
#include "config/files/keys.h"
#include "dialects/error_filter.h"
#include "dialects/paths.h"

namespace corral::api {
namespace {

constexpr std::uint32_t kPublic = 0, kEither = kInference | kAdmin;

// Without the core prefix; the same path at the root is the same route.
constexpr auto kRights = std::to_array<RouteRights>({
    {"GET", "live", kPublic},
    {"GET", "health", kPublic},  // to callers without a key it says "ok" only
    // The page has no data of the server, and must load before it can ask for a key.
    {"GET", "console", kPublic},
    {"GET", "console/{path...}", kPublic},

    {"POST", "chat/completions", kInference},
    {"POST", "completions", kInference},
    {"POST", "completion", kInference},
    {"POST", "infill", kInference},
    {"POST", "apply-template", kInference},
    {"POST", "chat/completions/input_tokens", kInference},
    {"POST", "embeddings", kInference},
    {"POST", "embedding", kInference},
    {"POST", "rerank", kInference},
    {"POST", "reranking", kInference},
    {"POST", "reranker", kInference},
    {"POST", "v2/rerank", kInference},
    {"POST", "audio/transcriptions", kInference},
    {"POST", "audio/translations", kInference},
    {"POST", "audio/speech", kInference},
    {"GET", "audio/voices", kInference},
    {"POST", "images/generations", kInference},
    {"POST", "images/edits", kInference},
    {"POST", "images/variations", kInference},
    // The name is random and long, so it is the right: pages show images by URLs alone.
    {"GET", "images/files/{name}", kPublic},
    {"POST", "tokenize", kInference},
    {"POST", "detokenize", kInference},
    {"POST", "responses", kInference},
    {"GET", "responses", kInference},  // a WebSocket
    {"POST", "responses/input_tokens", kInference},
    {"POST", "responses/compact", kInference},
    // Each key finds only its own.
    {"GET", "responses/{id}", kInference},
    {"DELETE", "responses/{id}", kInference},
    {"POST", "responses/{id}/cancel", kInference},
    {"GET", "responses/{id}/input_items", kInference},
    {"GET", "conversations", kInference},
    {"POST", "conversations", kInference},
    {"GET", "conversations/{id}", kInference},
    {"POST", "conversations/{id}", kInference},
    {"DELETE", "conversations/{id}", kInference},
    {"GET", "conversations/{id}/items", kInference},
    {"POST", "conversations/{id}/items", kInference},
    {"GET", "conversations/{id}/items/{item}", kInference},
    {"DELETE", "conversations/{id}/items/{item}", kInference},
    {"POST", "messages", kInference},
    {"POST", "messages/count_tokens", kInference},

    // Ollama's.
    {"POST", "api/chat", kInference},
    {"POST", "api/generate", kInference},
    {"POST", "api/embed", kInference},
    {"POST", "api/embeddings", kInference},
    {"GET", "api/tags", kEither},
    {"GET", "api/ps", kEither},
    {"GET", "api/version", kEither},
    {"POST", "api/show", kEither},
    {"POST", "api/pull", kAdmin},
    {"POST", "api/push", kAdmin},
    {"POST", "api/create", kAdmin},
    {"POST", "api/copy", kAdmin},
    {"DELETE", "api/delete", kAdmin},
    {"GET", "api/blobs/{digest}", kAdmin},
    {"POST", "api/blobs/{digest}", kAdmin},

    {"GET", "", kEither},  // browsers get the page in any case
    {"GET", "models", kEither},
    {"DELETE", "models", kAdmin},  // llama-server's
    {"GET", "models/{id...}", kEither},
    {"GET", "models/{id...}/options", kEither},
    {"POST", "models/load", kAdmin},
    {"POST", "models/unload", kAdmin},
    {"GET", "models/sse", kEither},
    // llama-swap's.
    {"GET", "running", kEither},
    {"GET", "unload", kAdmin},
    {"POST", "api/models/unload", kAdmin},
    {"POST", "api/models/unload/{model...}", kAdmin},
    // The handler requires the right for the path of the program.
    {"GET", "upstream/{path...}", kEither},
    {"POST", "upstream/{path...}", kEither},
    {"PUT", "upstream/{path...}", kAdmin},
    {"PATCH", "upstream/{path...}", kAdmin},
    {"DELETE", "upstream/{path...}", kAdmin},
    {"GET", "props", kEither},
    {"POST", "props", kAdmin},
    {"GET", "lora-adapters", kEither},
    {"POST", "lora-adapters", kAdmin},  // changes the answers to other clients
    {"GET", "openapi.json", kEither},
    {"GET", "stats", kEither},
    {"GET", "stats/history", kEither},
    {"GET", "memory", kEither},
    {"GET", "events", kEither},
    // At the root it is llama-swap's. Logs name models, clients and folders of all users.
    {"GET", "logs", kAdmin},
    {"GET", "metrics", kEither},
    {"GET", "slots", kEither},
    {"GET", "stream", kInference},
    {"DELETE", "stream", kInference},
    {"POST", "streams/lookup", kInference},
    {"POST", "slots/{id}", kInference},
    // Callers without admin rights see and cancel only their own requests.
    {"GET", "requests", kEither},
    {"POST", "requests/{id}/cancel", kEither},
    {"GET", "activity", kEither},
    {"GET", "activity/{id}/capture", kAdmin},

    {"POST", "load", kAdmin},
    {"POST", "estimate", kAdmin},  // it may start a process, which delays loads
    {"POST", "unload", kAdmin},
    {"POST", "verify", kAdmin},  // it reads all files, and may rename them
    // They use the network, fill or empty the disk, or change names.
    {"POST", "pull", kAdmin},
    {"GET", "pull/variants", kAdmin},
    {"GET", "registry/search", kAdmin},
    {"GET", "downloads", kEither},
    {"POST", "downloads/control", kAdmin},
    {"POST", "delete", kAdmin},
    {"POST", "models/register", kAdmin},
    {"POST", "import", kAdmin},
    {"GET", "internal/aliases", kEither},
    {"POST", "internal/aliases", kAdmin},
    {"DELETE", "internal/aliases/{alias...}", kAdmin},
    {"POST", "models/{id...}/options", kAdmin},
    {"DELETE", "models/{id...}/options", kAdmin},
    {"POST", "internal/pin", kAdmin},
    {"POST", "internal/simulate-vram-pressure", kAdmin},
    {"GET", "internal/config", kAdmin},
    {"GET", "internal/config/defaults", kAdmin},
    {"POST", "internal/set", kAdmin},

    // Addresses, names and memory of machines, and membership.
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
    {"GET", "mesh/plan", kAdmin},
    {"GET", "mesh/plan/{model...}", kAdmin},
    {"POST", "mesh/assign", kAdmin},
    {"POST", "mesh/unload", kAdmin},
    {"GET", "mesh/doctor", kAdmin},

    {"GET", "internal/keys", kOwner},
    {"POST", "internal/keys", kOwner},
    {"DELETE", "internal/keys/{id}", kOwner},
});

std::string_view without_prefix(std::string_view pattern) {
  for (const auto prefix : dialects::kCorePrefixes) {
    if (pattern.starts_with(prefix)) return pattern.substr(prefix.size());
  }
  return pattern.substr(pattern.starts_with('/') ? 1 : 0);
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

std::string caller_text(const http::Caller& caller) {
  return caller.key.empty() ? "a client without a key" : fmt::format("key {}", caller.key);
}

http::Response refuse_caller(const http::Request& request) {
  if (request.caller.rights != 0) {
    // For callers with rights unknown paths get 404 and don't come here.
    const auto missing = request.caller.missing;
    const auto scope = config::name_of(missing == kInference ? config::Scope::inference : config::Scope::admin);
    const Error error(
        make_error_code(errc::insufficient_scope),
        request.caller.key.empty()
            ? fmt::format("{} {} needs a key with the scope {}: create one with corral key create --scope {}; {}",
                          request.head.method, request.head.path(), scope, scope, config::kOthersAreRejected)
            : fmt::format(
                  "the key '{}' lacks a scope: {} {} needs {}; create such a key with corral key create --scope {}",
                  request.caller.key, request.head.method, request.head.path(), scope, scope));
    return dialects::error_response(error);
  }
  const Error error(make_error_code(errc::invalid_api_key),
                    "a valid API key is required: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'; create "
                    "one with corral key create");
  auto response = dialects::error_response(error);
  response.head.headers.set("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace corral::api
