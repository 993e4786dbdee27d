// /v1/stream: the past and further bytes of a conversation's stream, for a client that reconnects; DELETE ends it. POST
// /v1/streams/lookup: which of the given conversations have a stream. As in llama-server.
#include <charconv>

#include "api/base/command_body.h"
#include "api/llama/routes.h"
#include "dialects/error_filter.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr std::size_t kMaxLookedUp = 1024;

Result<KeptStreams::Name> asked_stream(const http::Request& request) {
  auto id = http::query_value(request.head.query(), "conv_id").value_or("");
  if (!id.empty()) return KeptStreams::Name(request.caller.key, std::move(id));
  return fail(protocol::errc::missing_field, "'conv_id' is required: the value of X-Conversation-Id", "conv_id");
}

Result<std::uint64_t> asked_byte(const http::Request& request) {
  const auto text = http::query_value(request.head.query(), "from").value_or("0");
  std::uint64_t from = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, from);
  if (error == std::errc() && stop == end) return from;
  return fail(protocol::errc::bad_value, "'from' must be a number of bytes, not '" + text.substr(0, 100) + "'", "from");
}

async::Task<http::Response> read_stream(LlamaContext& context, http::Request request) {
  const auto name = asked_stream(request);
  if (!name) co_return dialects::error_response(name.error());
  const auto from = asked_byte(request);
  if (!from) co_return dialects::error_response(from.error());
  auto response = context.kept_streams.read(*name, *from);
  if (!response) co_return dialects::error_response(response.error());
  co_return std::move(*response);
}

async::Task<http::Response> drop_stream(LlamaContext& context, http::Request request) {
  const auto name = asked_stream(request);
  if (!name) co_return dialects::error_response(name.error());
  context.kept_streams.drop(*name);
  co_return http::Response{http::ResponseHead{204, {}}, {}};
}

async::Task<http::Response> look_up_streams(LlamaContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.admin.bodies, request, lookup_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  std::vector<std::string> ids;
  peek->root().find("conversation_ids").each_element([&](json::View id) {
    if (!id.as_string().empty()) ids.emplace_back(id.as_string());
  });
  std::string body;
  json::Writer out(body);
  out.begin_array();
  for (const auto& view : context.kept_streams.find(request.caller.key, ids)) {
    out.begin_object().field("conversation_id", view.id).field("is_done", view.ended).field("total_bytes", view.bytes);
    out.field("started_at", epoch_millis(view.began) / 1000);
    out.field("completed_at", view.finished ? epoch_millis(*view.finished) / 1000 : 0).end_object();
  }
  out.end_array();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

const protocol::FieldTable& lookup_fields() {
  static constexpr protocol::Field kFields[] = {
      {.name = "conversation_ids",
       .kinds = protocol::kArray,
       .required = true,
       .max_size = kMaxLookedUp,
       .elements = protocol::kString,
       .about = "values of X-Conversation-Id; a value without its `::` suffix matches all suffixes"}};
  static const protocol::FieldTable table(kFields);
  return table;
}

void add_streams(std::vector<http::Route>& routes, LlamaContext& context) {
  routes.push_back({"GET", "/v1/stream", [&context](http::Request request, http::PathParams) {
                      return read_stream(context, std::move(request));
                    }});
  routes.push_back({"DELETE", "/v1/stream", [&context](http::Request request, http::PathParams) {
                      return drop_stream(context, std::move(request));
                    }});
  routes.push_back({"POST", "/v1/streams/lookup", [&context](http::Request request, http::PathParams) {
                      return look_up_streams(context, std::move(request));
                    }});
}

}  // namespace corral::api
