// Stored responses: GET and DELETE responses/{id}, its input_items, and cancel for background responses. A key sees
// only its own.
#include <utility>

#include <fmt/format.h>

#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "api/base/query.h"
#include "api/responses/item_list.h"
#include "api/responses/keeping.h"
#include "api/responses/routes.h"
#include "dialects/error_filter.h"
#include "dialects/responses/kept_items.h"
#include "json/peek.h"
#include "json/writer.h"
#include "store/errors.h"

namespace corral::api {
namespace {

namespace responses = dialects::responses;

// If the server stores nothing, the error says so.
Error no_response(std::string_view id) {
  return {make_error_code(store::errc::not_found),
          fmt::format("unknown response '{}': this server stores none (store_responses is off)", id.substr(0, 100))};
}

http::Response response_json(std::string doc) { return http::Response::json(200, std::move(doc)); }

// The document of a row. A response that is running, but not in this process, was interrupted.
std::string kept_document(store::ResponseRow row) {
  const bool open =
      row.status == store::kQueued || row.status == store::kInProgress || row.status == store::kInterrupted;
  return open ? responses::interrupted(row.doc) : std::move(row.doc);
}

async::Task<Result<std::string>> find_response(ResponsesContext& context, std::string owner, std::string id) {
  auto* const store = response_store(context);
  if (store == nullptr) co_return std::unexpected(no_response(id));
  if (context.background != nullptr) {
    auto looking = context.background->find(owner, id);
    auto doc = co_await std::move(looking);
    if (doc) co_return std::move(*doc);
  }
  auto reading = store->response(std::move(owner), std::move(id));
  auto row = co_await std::move(reading);
  if (!row) co_return std::unexpected(std::move(row.error()));
  co_return kept_document(std::move(*row));
}

async::Task<http::Response> response_events(ResponsesContext& context, std::string owner, std::string id,
                                            std::uint64_t from) {
  // First check that the response exists.
  auto finding = find_response(context, owner, id);
  const auto doc = co_await std::move(finding);
  if (!doc) co_return dialects::error_response(doc.error());
  std::unique_ptr<http::BodySource> events;
  if (context.background != nullptr) {
    auto listening = context.background->events(std::move(owner), id, from);
    events = co_await std::move(listening);
  }
  if (events) co_return http::Response::event_stream(std::move(events));
  const Error error(
      make_error_code(errc::response_events_gone),
      fmt::format(
          "'{}' has no events: it was created without 'background' and 'stream', or ended long ago. Omit 'stream'",
          id.substr(0, 100)),
      "stream");
  co_return dialects::error_response(error);
}

async::Task<http::Response> get_response(ResponsesContext& context, http::Request request, std::string id) {
  const auto query = request.head.query();
  const auto stream = query_flag(query, "stream");
  if (!stream) co_return dialects::error_response(stream.error());
  const auto after = query_number(query, "starting_after", 0, INT64_MAX - 1);
  if (!after) co_return dialects::error_response(after.error());
  if (*stream) {
    const auto from = *after ? static_cast<std::uint64_t>(**after) + 1 : 0;
    auto streaming = response_events(context, std::move(request.caller.key), std::move(id), from);
    co_return co_await std::move(streaming);
  }
  auto finding = find_response(context, std::move(request.caller.key), std::move(id));
  auto doc = co_await std::move(finding);
  if (!doc) co_return dialects::error_response(doc.error());
  co_return response_json(std::move(*doc));
}

async::Task<http::Response> erase_response(ResponsesContext& context, http::Request request, std::string id) {
  auto* const store = response_store(context);
  if (store == nullptr) co_return dialects::error_response(no_response(id));
  const auto owner = std::move(request.caller.key);
  if (context.background != nullptr) {
    auto removing = context.background->remove(owner, id);
    co_await std::move(removing);
  }
  auto erasing = store->erase_response(owner, id);
  const auto erased = co_await std::move(erasing);
  if (!erased) co_return dialects::error_response(erased.error());
  std::string text;
  json::Writer out(text);
  out.begin_object().field("id", id).field("object", "response").field("deleted", true).end_object();
  co_return response_json(std::move(text));
}

async::Task<http::Response> cancel_response(ResponsesContext& context, http::Request request, std::string id) {
  auto* const store = response_store(context);
  if (store == nullptr) co_return dialects::error_response(no_response(id));
  const auto owner = std::move(request.caller.key);
  if (context.background != nullptr) {
    auto cancelling = context.background->cancel(owner, id);
    auto doc = co_await std::move(cancelling);
    if (doc) co_return response_json(std::move(*doc));
  }
  auto reading = store->response(owner, id);
  auto row = co_await std::move(reading);
  if (!row) co_return dialects::error_response(row.error());
  auto doc = kept_document(std::move(*row));
  const auto peek = json::Peek::open(doc);
  if (peek && peek->root().find("background").as_bool()) co_return response_json(std::move(doc));
  const Error error(
      make_error_code(errc::response_not_in_background),
      fmt::format("'{}' was created without 'background': it has ended. A running one ends when its client disconnects",
                  id.substr(0, 100)));
  co_return dialects::error_response(error);
}

async::Task<http::Response> list_input_items(ResponsesContext& context, http::Request request, std::string id) {
  auto* const store = response_store(context);
  if (store == nullptr) co_return dialects::error_response(no_response(id));
  const auto wanted = page_request(request.head.query());
  if (!wanted) co_return dialects::error_response(wanted.error());
  auto reading = store->response(std::move(request.caller.key), std::move(id));
  auto row = co_await std::move(reading);
  if (!row) co_return dialects::error_response(row.error());
  std::vector<store::ItemRow> all;
  for (auto& item : responses::items_in(row->input)) all.push_back({std::move(item.id), std::move(item.doc)});
  const auto page = page_of(std::move(all), *wanted);
  if (!page) co_return dialects::error_response(page.error());
  co_return response_json(item_list(*page));
}

}  // namespace

void add_responses(std::vector<http::Route>& routes, ResponsesContext& context) {
  const auto add = [&](const char* method, std::string_view path, auto handler) {
    add_core(routes, method, path, [&context, handler](http::Request request, http::PathParams params) {
      return handler(context, std::move(request), std::move(params["id"]));
    });
  };
  add("GET", "responses/{id}", get_response);
  add("DELETE", "responses/{id}", erase_response);
  add("POST", "responses/{id}/cancel", cancel_response);
  add("GET", "responses/{id}/input_items", list_input_items);
}

}  // namespace corral::api
