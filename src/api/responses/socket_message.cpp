#include "api/responses/socket_message.h"

#include <fmt/format.h>

#include "json/lone_surrogates.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

using json::View;

Result<> check_message(View message) {
  constexpr std::string_view kWanted = "a message has the fields of POST responses, and \"type\": \"response.create\"";
  if (!message.is_object())
    return fail(protocol::errc::bad_value, fmt::format("the message is not an object: {}", kWanted));
  const auto type = message.find("type");
  if (type.is_null())
    return fail(protocol::errc::missing_field, fmt::format("'type' is required: {}", kWanted), "type");
  if (type.as_string() != "response.create")
    return fail(protocol::errc::unsupported_value, fmt::format("'type' is {}: {}", type.excerpt(), kWanted), "type");
  if (!message.find("background").as_bool()) return {};
  return fail(protocol::errc::unsupported_value,
              "'background' is not available in a WebSocket: send the request with POST", "background");
}

// The transport decides these.
bool is_of_transport(std::string_view name) {
  return name == "type" || name == "stream" || name == "stream_options" || name == "background";
}

}  // namespace

Result<std::string> body_of_message(std::string message) {
  json::replace_lone_surrogates(message);
  const auto peek = json::Peek::open(message);
  if (!peek) return std::unexpected(peek.error());
  if (auto fine = check_message(peek->root()); !fine) return std::unexpected(std::move(fine.error()));
  std::string body;
  body.reserve(message.size());
  json::Writer out(body);
  out.begin_object();
  peek->root().each_member([&](std::string_view name, View value) {
    if (!is_of_transport(name)) out.any_key(name).raw(value.text());
  });
  out.field("stream", true).end_object();
  return body;
}

std::string error_message(unsigned status, const std::string& answer) {
  // An answer in OpenAI's shape has more members than an error keeps.
  const auto peek = json::Peek::open(answer);
  const auto error = peek ? peek->root().find("error") : View();
  std::string event;
  json::Writer out(event);
  out.begin_object().field("type", "error").field("status", status);
  if (error.is_object()) {
    out.key("error").raw(error.text());
  } else {
    const auto body = protocol::error_body(protocol::parse_error_body(status, answer));
    if (const auto written = json::Peek::open(body)) out.key("error").raw(written->root().find("error").text());
  }
  out.end_object();
  return event;
}

}  // namespace corral::api
