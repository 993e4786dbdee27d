// Results of ended requests: GET activity, GET activity/{id}/capture.
#include <algorithm>
#include <map>

#include "api/access/rights.h"
#include "api/activity/activity_board.h"
#include "api/admin/routes.h"
#include "api/base/core_routes.h"
#include "api/base/query.h"
#include "dialects/error_filter.h"
#include "fleet/node/node.h"
#include "json/writer.h"

namespace corral::api {
namespace {

constexpr std::int64_t kMax = 1'000, kUsual = 100;
constexpr int kMaxPages = 20;
constexpr std::size_t kLongestFilter = 256;

// The filters of a request. The store applies all but those about the end of requests.
struct Wanted {
  store::ActivityFilter filter;
  std::size_t limit = 100;
  int status_from = 0, status_to = 999;
  std::string code;

  bool by_end() const { return status_from > 0 || !code.empty(); }
  bool takes(const store::ActivityRow& row) const {
    return row.status >= status_from && row.status <= status_to && (code.empty() || row.outcome == code);
  }
};

// "404", or "4xx".
Result<> read_status(std::string_view query, Wanted& wanted) {
  const auto text = http::query_value(query, "status");
  if (!text) return {};
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool group = text->size() == 3 && digit((*text)[0]) && text->ends_with("xx");
  if (!group && (text->size() != 3 || !std::ranges::all_of(*text, digit)))
    return wrong_query("status", "a status (404), or the first digit of several (4xx)", *text);
  const int first = (*text)[0] - '0';
  wanted.status_from = group ? first * 100 : first * 100 + ((*text)[1] - '0') * 10 + ((*text)[2] - '0');
  wanted.status_to = wanted.status_from + (group ? 99 : 0);
  return {};
}

std::string text_of(std::string_view query, std::string_view name) {
  return http::query_value(query, name).value_or("").substr(0, kLongestFilter);
}

// Key names by identifier.
using Names = std::map<std::string, std::string, std::less<>>;
Names key_names(const AdminContext& context) {
  Names names;
  if (context.access.keys == nullptr) return names;
  if (const auto keys = context.access.keys->list()) {
    for (const auto& key : keys->keys) names[key.id] = key.name;
  }
  return names;
}

Names node_names(const AdminContext& context) {
  Names names;
  if (context.core.node == nullptr) return names;
  for (const auto& node : context.core.node->view()->nodes) names[mesh::to_text(node.id)] = node.name;
  return names;
}

Result<Wanted> wanted_of(std::string_view query, const http::Caller& caller, const Names& names) {
  Wanted wanted;
  if (!has(caller, kAdmin)) wanted.filter.owner = caller.key;
  wanted.filter.model = text_of(query, "model");
  wanted.filter.key = text_of(query, "key");
  const auto named = std::ranges::find(names, wanted.filter.key, &Names::value_type::second);
  if (named != names.end() && !wanted.filter.key.empty()) wanted.filter.key = named->first;
  wanted.code = text_of(query, "code");
  if (const auto read = read_status(query, wanted); !read) return std::unexpected(read.error());
  const auto since = query_number(query, "since", 0, INT64_MAX), before = query_number(query, "before", 0, INT64_MAX),
             limit = query_number(query, "limit", 0, kMax);
  for (const auto* read : {&since, &before, &limit}) {
    if (!*read) return std::unexpected(read->error());
  }
  wanted.filter.since = since->value_or(0);
  wanted.filter.before = *before;
  wanted.limit = static_cast<std::size_t>(limit->value_or(kUsual));
  wanted.filter.limit = wanted.by_end() ? static_cast<std::size_t>(kMax) : wanted.limit;
  return wanted;
}

struct Found {
  std::vector<store::ActivityRow> rows;
  std::optional<std::int64_t> next;  // older ones have lower numbers; nothing: no more rows
};

// Searches a limited number of pages; `next` is where to continue.
async::Task<Result<Found>> find(store::Store& store, Wanted wanted) {
  Found found;
  if (wanted.limit == 0) co_return found;
  for (int page = 0; page < kMaxPages; ++page) {
    auto filter = wanted.filter;
    auto finding = store.activity(std::move(filter));
    auto rows = co_await std::move(finding);
    if (!rows) co_return std::unexpected(rows.error());
    for (auto& row : *rows) {
      found.next = row.number;
      if (wanted.takes(row)) found.rows.push_back(std::move(row));
      if (found.rows.size() == wanted.limit) co_return found;
    }
    if (rows->size() < wanted.filter.limit) {
      found.next.reset();
      co_return found;
    }
    wanted.filter.before = found.next;
  }
  co_return found;
}

void write(json::Writer& out, const store::ActivityRow& row, const Names& names, const Names& nodes) {
  const auto maybe = [&](std::string_view name, const std::optional<std::int64_t>& value) {
    out.key(name);
    value ? out.value(*value) : out.null();
  };
  const auto key = names.find(row.owner);
  out.begin_object().field("number", row.number).field("id", row.request).field("ended", row.ended);
  out.field("model", row.model).field("key", row.owner);
  out.field("key_name", key == names.end() ? std::string_view() : std::string_view(key->second));
  out.field("dialect", row.dialect).field("path", row.path).field("client", row.client);
  maybe("prompt_tokens", row.prompt_tokens);
  maybe("cached_tokens", row.cached_tokens);
  maybe("output_tokens", row.output_tokens);
  maybe("first_token_ms", row.first_token_ms);
  out.field("duration_ms", row.duration_ms).field("status", row.status).field("code", row.outcome);
  if (!row.node.empty()) {
    const auto node = nodes.find(row.node);
    out.field("node", row.node);
    out.field("node_name", node == nodes.end() ? std::string_view() : std::string_view(node->second));
  }
  out.end_object();
}

async::Task<http::Response> list(AdminContext& context, http::Request request) {
  const auto names = key_names(context), nodes = node_names(context);
  auto wanted = wanted_of(request.head.query(), request.caller, names);
  if (!wanted) co_return dialects::error_response(wanted.error());
  auto finding = find(*context.core.store, std::move(*wanted));
  const auto found = co_await std::move(finding);
  if (!found) co_return dialects::error_response(found.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().key("activity").begin_array();
  for (const auto& row : found->rows) write(out, row, names, nodes);
  out.end_array();
  if (has(request.caller, kAdmin)) out.field("lost", context.core.store->counts().lost_activity);
  if (found->next) out.field("next", *found->next);
  out.end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> capture(AdminContext& context, std::string id) {
  auto finding = context.core.store->captured(std::move(id));
  auto row = co_await std::move(finding);
  if (!row) co_return dialects::error_response(row.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("id", row->request).field("ended", row->ended).key("capture").raw(row->doc).end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_activity(std::vector<http::Route>& routes, AdminContext& context) {
  add_core(routes, "GET", "activity",
           [&context](http::Request request, http::PathParams) { return list(context, std::move(request)); });
  add_core(routes, "GET", "activity/{id}/capture",
           [&context](http::Request, http::PathParams params) { return capture(context, std::move(params["id"])); });
}

}  // namespace corral::api
