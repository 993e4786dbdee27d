// The keys of the server's clients: GET /internal/keys, POST /internal/keys (the only answer with the new key), DELETE
// /internal/keys/{id}. Only for an admin with a key; `corral key create` makes the first key.
#include "api/access/rights.h"
#include "api/admin/routes.h"
#include "api/base/command_body.h"
#include "base/log.h"
#include "dialects/error_filter.h"
#include "json/value.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr Field kKeyFields[] = {
    {.name = "name", .kinds = protocol::kString},
    {.name = "scopes", .kinds = protocol::kArray, .required = true, .elements = protocol::kString},
    {.name = "max_in_flight", .kinds = protocol::kInteger, .min = 0, .max = config::kMaxInFlight},
    {.name = "priority", .kinds = protocol::kString, .choices = "interactive|background"},
};

const protocol::FieldTable& key_fields() {
  static const protocol::FieldTable table(kKeyFields);
  return table;
}

http::Response json_answer(const json::Object& body) { return http::Response::json(200, json::serialize(body)); }

async::Task<http::Response> list(KeyStore& store) {
  const auto keys = store.list();
  if (!keys) co_return dialects::error_response(keys.error());
  const auto uses = store.table()->uses();
  json::Array rows;
  for (const auto& key : keys->keys) {
    auto row = config::to_json(key);
    const auto used = uses.find(key.id);
    row["last_used"] = used == uses.end() ? json::Value() : json::Value(used->second);
    rows.push_back(std::move(row));
  }
  co_return json_answer({{"keys", std::move(rows)}});
}

async::Task<http::Response> create(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, key_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto body = json::parse(peek->root().text());
  if (!body) co_return dialects::error_response(body.error());
  std::vector<std::string> names;
  for (const auto& name : json::find(*body, "scopes")->get_array()) names.emplace_back(name.get_string());
  const auto scopes = config::parse_scopes(names);
  if (!scopes) co_return dialects::error_response(scopes.error());
  const config::KeyTerms terms{.max_in_flight = static_cast<std::uint32_t>(json::number_or(*body, "max_in_flight", 0)),
                               .background = json::text_or(*body, "priority", "") == "background"};
  const auto made = context.access.keys->create(std::string(json::text_or(*body, "name", "")), *scopes, terms,
                                                context.core.timers.wall_now());
  if (!made) co_return dialects::error_response(made.error());
  log::info("api", "key {} created over HTTP by {}", made->key.id, caller_text(request.caller));
  auto row = config::to_json(made->key);
  row["key"] = made->text;
  co_return json_answer(row);
}

async::Task<http::Response> revoke(KeyStore& store, http::Request request, std::string id) {
  const auto revoked = store.revoke(id);
  if (!revoked) co_return dialects::error_response(revoked.error());
  log::info("api", "key {} revoked over HTTP by {}", revoked->key.id, caller_text(request.caller));
  co_return json_answer({{"status", "success"}, {"id", revoked->key.id}, {"keys_left", revoked->left}});
}

}  // namespace

void add_keys(std::vector<http::Route>& routes, AdminContext& context) {
  routes.push_back(
      {"GET", "/internal/keys", [&context](http::Request, http::PathParams) { return list(*context.access.keys); }});
  routes.push_back({"POST", "/internal/keys", [&context](http::Request request, http::PathParams) {
                      return create(context, std::move(request));
                    }});
  routes.push_back({"DELETE", "/internal/keys/{id}", [&context](http::Request request, http::PathParams params) {
                      return revoke(*context.access.keys, std::move(request), std::move(params["id"]));
                    }});
}

}  // namespace corral::api
