// Stored conversations: items of several responses in order. A key sees only its own.
#include <utility>

#include <fmt/format.h>

#include "api/base/body_check.h"
#include "api/base/core_routes.h"
#include "api/base/query.h"
#include "api/responses/item_list.h"
#include "api/responses/keeping.h"
#include "api/responses/routes.h"
#include "dialects/answer_id.h"
#include "dialects/error_filter.h"
#include "dialects/responses/kept_items.h"
#include "json/byte_order_mark.h"
#include "json/lone_surrogates.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/responses/responses_fields.h"
#include "store/errors.h"

namespace corral::api {
namespace {

namespace responses = dialects::responses;

std::string shown_conversation(const store::ConversationRow& row) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("id", row.id).field("object", "conversation").field("created_at", row.created / 1000);
  out.field("updated_at", row.changed / 1000).key("metadata").raw(row.metadata).end_object();
  return text;
}

http::Response shown_row(const Result<store::ConversationRow>& row) {
  if (!row) return dialects::error_response(row.error());
  return http::Response::json(200, shown_conversation(*row));
}

// The members of a body.
struct ConversationBody {
  std::string metadata = "{}";
  std::vector<store::ItemRow> items = {};
};

Result<ConversationBody> read_conversation_body(std::string body, const protocol::FieldTable& table,
                                                std::string_view request) {
  json::replace_lone_surrogates(body);
  const auto peek = json::Peek::open(body);
  if (!peek) return std::unexpected(peek.error());
  const auto root = peek->root();
  if (auto fine = protocol::check(root, table); !fine) return std::unexpected(std::move(fine.error()));
  ConversationBody parsed;
  if (const auto metadata = root.find("metadata"); !metadata.is_null()) parsed.metadata = metadata.text();
  if (const auto items = root.find("items"); !items.is_null()) {
    for (auto& item : responses::items_in(responses::kept_input(items, request, {})))
      parsed.items.push_back({std::move(item.id), std::move(item.doc)});
  }
  return parsed;
}

// On the loop if the body is small.
async::Task<Result<ConversationBody>> conversation_body(ResponsesContext& context, http::Request& request,
                                                        const protocol::FieldTable& table) {
  auto reading = request.body.read_all(context.bodies.max_bytes);
  auto body = co_await std::move(reading);
  if (!body) co_return std::unexpected(std::move(body.error()));
  *body = json::without_byte_order_mark(std::move(*body));
  if (body->empty()) body = "{}";
  if (context.bodies.threads == nullptr || body->size() <= kSmallBody)
    co_return read_conversation_body(std::move(*body), table, request.id.value());
  auto work = [body = std::move(*body), &table, id = request.id.value()]() mutable {
    return read_conversation_body(std::move(body), table, id);
  };
  co_return co_await context.bodies.threads->run(std::move(work));
}

async::Task<http::Response> make_conversation(ResponsesContext& context, store::Store& store, http::Request request,
                                              http::PathParams) {
  auto reading = conversation_body(context, request, protocol::conversation_fields());
  auto parsed = co_await std::move(reading);
  if (!parsed) co_return dialects::error_response(parsed.error());
  const auto now = epoch_millis(context.core.timers.wall_now());
  store::ConversationRow row{.id = dialects::answer_id("conv", request.id.value()),
                             .owner = request.caller.key,
                             .created = now,
                             .changed = now,
                             .metadata = std::move(parsed->metadata)};
  const auto text = shown_conversation(row);
  auto creating = store.create(std::move(row), std::move(parsed->items));
  const auto created = co_await std::move(creating);
  if (!created) co_return dialects::error_response(created.error());
  co_return http::Response::json(200, text);
}

// Our addition to OpenAI's API.
async::Task<http::Response> list_conversations(ResponsesContext&, store::Store& store, http::Request request,
                                               http::PathParams) {
  auto wanted = page_request(request.head.query());
  if (!wanted) co_return dialects::error_response(wanted.error());
  if (!wanted->before.empty()) {
    const auto refused = wrong_query("before", "absent (use 'after')", wanted->before);
    co_return dialects::error_response(refused.error());
  }
  auto reading = store.conversations(std::move(request.caller.key), std::move(wanted->page));
  const auto page = co_await std::move(reading);
  if (!page) co_return dialects::error_response(page.error());
  store::ItemPage shown{.more = page->more};
  for (const auto& row : page->conversations) shown.items.push_back({.id = row.id, .doc = shown_conversation(row)});
  co_return http::Response::json(200, item_list(shown));
}

async::Task<http::Response> get_conversation(ResponsesContext&, store::Store& store, http::Request request,
                                             http::PathParams params) {
  auto reading = store.conversation(std::move(request.caller.key), std::move(params["id"]));
  co_return shown_row(co_await std::move(reading));
}

async::Task<http::Response> change_conversation(ResponsesContext& context, store::Store& store, http::Request request,
                                                http::PathParams params) {
  auto reading = conversation_body(context, request, protocol::conversation_change_fields());
  auto parsed = co_await std::move(reading);
  if (!parsed) co_return dialects::error_response(parsed.error());
  auto setting =
      store.set_metadata(std::move(request.caller.key), std::move(params["id"]), std::move(parsed->metadata));
  co_return shown_row(co_await std::move(setting));
}

async::Task<http::Response> erase_conversation(ResponsesContext&, store::Store& store, http::Request request,
                                               http::PathParams params) {
  auto erasing = store.erase_conversation(std::move(request.caller.key), params["id"]);
  const auto erased = co_await std::move(erasing);
  if (!erased) co_return dialects::error_response(erased.error());
  std::string text;
  json::Writer out(text);
  out.begin_object().field("id", params["id"]).field("object", "conversation.deleted").field("deleted", true);
  out.end_object();
  co_return http::Response::json(200, std::move(text));
}

async::Task<http::Response> list_conversation_items(ResponsesContext& context, store::Store& store,
                                                    http::Request request, http::PathParams params) {
  auto wanted = page_request(request.head.query());
  if (!wanted) co_return dialects::error_response(wanted.error());
  if (wanted->before.empty()) {
    auto reading = store.items(std::move(request.caller.key), std::move(params["id"]), std::move(wanted->page));
    const auto page = co_await std::move(reading);
    if (!page) co_return dialects::error_response(page.error());
    co_return http::Response::json(200, item_list(*page));
  }
  auto reading = store.all_items(std::move(request.caller.key), std::move(params["id"]),
                                 store::ReadLimits{.bytes = context.bodies.max_bytes});
  auto all = co_await std::move(reading);
  if (!all) co_return dialects::error_response(all.error());
  const auto page = page_of(std::move(*all), *wanted);
  if (!page) co_return dialects::error_response(page.error());
  co_return http::Response::json(200, item_list(*page));
}

async::Task<http::Response> add_conversation_items(ResponsesContext& context, store::Store& store,
                                                   http::Request request, http::PathParams params) {
  auto reading = conversation_body(context, request, protocol::conversation_items_fields());
  auto parsed = co_await std::move(reading);
  if (!parsed) co_return dialects::error_response(parsed.error());
  const auto text = item_list({.items = parsed->items});
  auto adding = store.add(std::move(request.caller.key), std::move(params["id"]), std::move(parsed->items),
                          store::ReadLimits{.bytes = context.bodies.max_bytes});
  const auto added = co_await std::move(adding);
  if (!added) co_return dialects::error_response(added.error());
  co_return http::Response::json(200, text);
}

async::Task<http::Response> get_conversation_item(ResponsesContext&, store::Store& store, http::Request request,
                                                  http::PathParams params) {
  auto reading = store.item(std::move(request.caller.key), std::move(params["id"]), std::move(params["item"]));
  auto item = co_await std::move(reading);
  if (!item) co_return dialects::error_response(item.error());
  co_return http::Response::json(200, std::move(item->doc));
}

async::Task<http::Response> erase_conversation_item(ResponsesContext&, store::Store& store, http::Request request,
                                                    http::PathParams params) {
  auto erasing = store.erase_item(request.caller.key, params["id"], std::move(params["item"]));
  const auto erased = co_await std::move(erasing);
  if (!erased) co_return dialects::error_response(erased.error());
  auto reading = store.conversation(std::move(request.caller.key), std::move(params["id"]));
  co_return shown_row(co_await std::move(reading));
}

async::Task<http::Response> refused_conversation(Error error) { co_return dialects::error_response(error); }

}  // namespace

void add_conversations(std::vector<http::Route>& routes, ResponsesContext& context) {
  const auto add = [&](const char* method, std::string_view path, auto handler) {
    add_core(routes, method, path, [&context, handler](http::Request request, http::PathParams params) {
      auto* const store = response_store(context);
      if (store == nullptr) return refused_conversation(nothing_kept("a conversation"));
      return handler(context, *store, std::move(request), std::move(params));
    });
  };
  add("GET", "conversations", list_conversations);
  add("POST", "conversations", make_conversation);
  add("GET", "conversations/{id}", get_conversation);
  add("POST", "conversations/{id}", change_conversation);
  add("DELETE", "conversations/{id}", erase_conversation);
  add("GET", "conversations/{id}/items", list_conversation_items);
  add("POST", "conversations/{id}/items", add_conversation_items);
  add("GET", "conversations/{id}/items/{item}", get_conversation_item);
  add("DELETE", "conversations/{id}/items/{item}", erase_conversation_item);
}

}  // namespace corral::api
