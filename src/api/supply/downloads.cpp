// GET downloads, POST downloads/control, GET pull/variants, GET registry/search.
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "api/supply/download_json.h"
#include "api/supply/known_names.h"
#include "api/supply/routes.h"
#include "api/supply/supply.h"
#include "dialects/error_filter.h"
#include "downloads/errors.h"
#include "downloads/transfer/part_file.h"
#include "protocol/errors.h"
#include "protocol/fields.h"

namespace corral::api {
namespace {

using downloads::DownloadOrder;
using protocol::Field;

constexpr std::size_t kMaxFound = 100, kUsuallyFound = 20;
constexpr std::size_t kMaxWords = 256;

constexpr Field kControlFields[] = {
    {.name = "id", .kinds = protocol::kString, .min_size = 1, .max_bytes = 2 * downloads::kMaxNameBytes},
    {.name = "model_name", .kinds = protocol::kString, .min_size = 1, .max_bytes = downloads::kMaxNameBytes},
    {.name = "model", .kinds = protocol::kString, .min_size = 1, .max_bytes = downloads::kMaxNameBytes},
    {.name = "action", .kinds = protocol::kString, .required = true, .choices = "pause|resume|cancel|remove"},
};

std::string name_in(json::View body) {
  for (const std::string_view field : {"id", "model_name", "model"}) {
    const auto found = body.find(field);
    if (!found.found() || !found.is_string()) continue;
    std::string name(found.as_string());
    if (field == "id" && name.starts_with(kDownloadPrefix)) name.erase(0, kDownloadPrefix.size());
    return name;
  }
  return {};
}

DownloadOrder order_of(std::string_view word) {
  if (word == "pause") return DownloadOrder::pause;
  if (word == "resume") return DownloadOrder::resume;
  return word == "cancel" ? DownloadOrder::cancel : DownloadOrder::remove;
}

async::Task<http::Response> list_downloads(SupplyContext& context) {
  const auto rows = co_await context.supply->download_manager.list();
  std::string body;
  json::Writer out(body);
  out.begin_array();
  for (const auto& row : rows) out.raw(download_body(row));
  out.end_array();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> order_download(SupplyContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, download_control_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto name = name_in(peek->root());
  if (name.empty()) {
    const Error error(make_error_code(protocol::errc::missing_field),
                      "'id' is required: the ID of a download, see /v1/downloads", "id");
    co_return dialects::error_response(error);
  }
  const auto what = order_of(peek->root().find("action").as_string());
  const auto row = co_await context.supply->download_manager.order(name, what);
  if (!row && row.error().code == downloads::errc::file_not_found) {
    const Error error(make_error_code(errc::download_not_found), row.error().message, "id");
    co_return dialects::error_response(error);
  }
  if (!row) co_return dialects::error_response(row.error());
  if (what != DownloadOrder::remove) co_return http::Response::json(200, download_body(*row));
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "removed").field("id", fmt::format("{}{}", kDownloadPrefix, name)).end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> list_variants(SupplyContext& context, http::Request request) {
  const auto asked = source_of(context, http::query_value(request.head.query(), "checkpoint").value_or(""));
  const auto source = downloads::parse_source(asked);
  if (!source) {
    Error error = source.error();
    error.param = "checkpoint";
    co_return dialects::error_response(error);
  }
  if (source->kind != downloads::SourceKind::hub) {
    const auto text = fmt::format("'checkpoint' must be a repository of the hub (org/repo), not '{}'", asked);
    const Error error(make_error_code(downloads::errc::bad_name), text, "checkpoint");
    co_return dialects::error_response(error);
  }
  auto& download_manager = context.supply->download_manager;
  auto listing = co_await download_manager.list_repo(source->repo, source->revision);
  if (!listing) co_return dialects::error_response(listing.error());
  const auto memory = co_await context.supply->memory();
  auto look = [listing = std::move(*listing), memory, cache = download_manager.hub().cache] {
    return variants_body(listing, listing.repo, memory, cache, downloads::free_bytes(cache));
  };
  auto body = co_await download_manager.disk().run(std::move(look));
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> search_hub(SupplyContext& context, http::Request request) {
  const auto query = request.head.query();
  auto words = http::query_value(query, "query").value_or("");
  const auto limit_text = http::query_value(query, "limit").value_or(std::to_string(kUsuallyFound));
  std::size_t limit = 0;
  const auto read = std::from_chars(limit_text.data(), limit_text.data() + limit_text.size(), limit);
  const bool whole = read.ec == std::errc() && read.ptr == limit_text.data() + limit_text.size();
  if (words.empty() || words.size() > kMaxWords || !whole || limit == 0 || limit > kMaxFound) {
    const bool bad_words = words.empty() || words.size() > kMaxWords;
    const Error error(make_error_code(protocol::errc::unsupported_value),
                      bad_words ? fmt::format("'query' must be a search text of at most {} bytes", kMaxWords)
                                : fmt::format("'limit' must be a number between 1 and {}", kMaxFound),
                      bad_words ? "query" : "limit");
    co_return dialects::error_response(error);
  }
  const auto found = co_await context.supply->download_manager.search(std::move(words), limit);
  if (!found) co_return dialects::error_response(found.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().key("models").begin_array();
  for (const auto& repo : *found) {
    out.begin_object().field("checkpoint", repo.repo).field("downloads", repo.downloads);
    out.field("likes", repo.likes).field("gated", repo.gated).end_object();
  }
  out.end_array().field("source", "huggingface").end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

const protocol::FieldTable& download_control_fields() {
  static const protocol::FieldTable table(kControlFields);
  return table;
}

void add_downloads(std::vector<http::Route>& routes, SupplyContext& context) {
  add_core(routes, "GET", "downloads", [&context](http::Request, http::PathParams) { return list_downloads(context); });
  add_core(routes, "POST", "downloads/control",
           [&context](http::Request request, http::PathParams) { return order_download(context, std::move(request)); });
  add_core(routes, "GET", "pull/variants",
           [&context](http::Request request, http::PathParams) { return list_variants(context, std::move(request)); });
  add_core(routes, "GET", "registry/search",
           [&context](http::Request request, http::PathParams) { return search_hub(context, std::move(request)); });
}

}  // namespace corral::api
