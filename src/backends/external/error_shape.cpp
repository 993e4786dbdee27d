#include "backends/external/error_shape.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/value.h"
#include "json/writer.h"
#include "protocol/http_error.h"

namespace corral::backends {
namespace {

constexpr std::size_t kMaxMessage = 500;
// llama-server's type of a request that its context can't hold, and OpenAI's code for it.
constexpr std::string_view kContextType = "exceed_context_size_error", kContextCode = "context_length_exceeded";

struct Parts {
  std::string message, type, code, param;
  double prompt_tokens = -1, context = -1;
};

std::string text_in(const json::Value& object, std::string_view name) {
  return std::string(json::text_or(object, name, ""));
}

// FastAPI's: a text, or a list of objects with `msg`.
std::string detail_of(const json::Value& detail) {
  if (const auto* text = detail.if_string()) return std::string(text->data(), text->size());
  if (!detail.is_array() || detail.get_array().empty()) return {};
  return text_in(detail.get_array().front(), "msg");
}

Parts parts_of(std::string_view body) {
  Parts parts;
  const auto parsed = json::parse(body);
  if (!parsed || !parsed->is_object()) return parts;
  const auto* error = json::find(*parsed, "error");
  if (const auto* text = error != nullptr ? error->if_string() : nullptr) {
    // sd-server: {"error":"server_error","message":"…"}.
    parts.message = text_in(*parsed, "message");
    if (parts.message.empty()) parts.message = std::string(text->data(), text->size());
    return parts;
  }
  const auto& from = error != nullptr && error->is_object() ? *error : *parsed;
  parts = {text_in(from, "message"),
           text_in(from, "type"),
           text_in(from, "code"),
           text_in(from, "param"),
           json::number_or(from, "n_prompt_tokens", -1),
           json::number_or(from, "n_ctx", -1)};
  if (const auto* detail = json::find(from, "detail"); detail != nullptr && parts.message.empty())
    parts.message = detail_of(*detail);
  return parts;
}

}  // namespace

std::string openai_error(unsigned status, std::string_view body, std::string_view program) {
  auto parts = parts_of(body);
  if (parts.message.empty()) {
    auto text = body.substr(0, std::min(body.size(), kMaxMessage));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    parts.message = text.empty() ? fmt::format("{} returned status {}", program, status) : std::string(text);
  }
  const auto general = protocol::parse_error_body(status, {});
  if (parts.type.empty()) parts.type = protocol::status_row(kind_of(general.code)).openai_type;
  if (parts.type == kContextType) parts.code = kContextCode;
  if (parts.code.empty()) parts.code = general.code.message();
  std::string out;
  json::Writer json(out);
  json.begin_object().key("error").begin_object();
  json.field("message", parts.message).field("type", parts.type).field("code", parts.code).key("param");
  parts.param.empty() ? json.null() : json.value(parts.param);
  if (parts.prompt_tokens >= 0 && parts.context >= 0 && parts.prompt_tokens < 1e15 && parts.context < 1e15) {
    json.field("n_prompt_tokens", static_cast<std::uint64_t>(parts.prompt_tokens));
    json.field("n_ctx", static_cast<std::uint64_t>(parts.context));
  }
  json.end_object().end_object();
  return out;
}

}  // namespace corral::backends
