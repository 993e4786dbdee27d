#include "protocol/http_error.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "http/errors.h"
#include "http/sse.h"
#include "json/count.h"
#include "json/value.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::protocol {
namespace {

constexpr std::array kStatuses = std::to_array<StatusRow>({
    {ErrorKind::internal, 500, "server_error", "api_error"},
    {ErrorKind::invalid_request, 400, "invalid_request_error", "invalid_request_error"},
    {ErrorKind::unauthorized, 401, "authentication_error", "authentication_error"},
    {ErrorKind::forbidden, 403, "permission_error", "permission_error"},
    {ErrorKind::not_found, 404, "not_found_error", "not_found_error"},
    {ErrorKind::conflict, 409, "conflict_error", "conflict_error"},
    {ErrorKind::too_large, 413, "request_too_large", "request_too_large"},
    {ErrorKind::unprocessable, 422, "unprocessable_error", "invalid_request_error"},
    {ErrorKind::rate_limited, 429, "rate_limit_error", "rate_limit_error"},
    {ErrorKind::unavailable, 503, "unavailable_error", "overloaded_error"},
    {ErrorKind::upstream, 502, "upstream_error", "api_error"},
    {ErrorKind::timeout, 504, "timeout_error", "timeout_error"},
    {ErrorKind::cancelled, 499, "cancelled_error", "invalid_request_error"},
});

constexpr std::size_t kMaxForeignText = 500;

// The remote_* causes are in the order of ErrorKind.
errc remote_cause(ErrorKind kind) {
  return static_cast<errc>(static_cast<int>(errc::remote_internal) + static_cast<int>(kind));
}

ErrorKind kind_of_status(unsigned status) {
  for (const auto& row : kStatuses) {
    if (row.status == status) return row.kind;
  }
  return status >= 500 ? ErrorKind::internal : ErrorKind::invalid_request;
}

// Our own cause with this name and kind, or the general one of the kind.
std::error_code cause_of(ErrorKind kind, std::string_view name) {
  for (int value = 1; value <= static_cast<int>(errc::remote_cancelled); ++value) {
    const auto code = make_error_code(static_cast<errc>(value));
    if (kind_of(code) == kind && code.message() == name) return code;
  }
  return make_error_code(remote_cause(kind));
}

// The text at which Anthropic's clients shorten a conversation that is too long.
void write_anthropic(json::Writer& out, const Error& error) {
  out.begin_object().field("type", "error").key("error").begin_object();
  out.field("type", status_row(kind_of(error.code)).anthropic_type).key("message");
  if (const auto* numbers = error.fact<ContextNumbers>()) {
    out.value(fmt::format("prompt is too long: {} tokens > {} maximum; {}", numbers->n_prompt_tokens, numbers->n_ctx,
                          error.message));
  } else {
    out.value(error.message);
  }
  out.end_object().end_object();
}

void write_openai(json::Writer& out, const Error& error) {
  const auto& row = status_row(kind_of(error.code));
  // llama-server's clients recognize a too small context by the type, OpenAI's by the code.
  const std::string_view type = error.fact<ContextNumbers>() != nullptr ? kContextSizeType : row.openai_type;
  out.begin_object().key("error").begin_object();
  out.field("message", error.message).field("type", type).field("code", error.code.message()).key("param");
  error.param.empty() ? out.null() : out.value(error.param);
  if (const auto* numbers = error.fact<ContextNumbers>())
    out.field("n_prompt_tokens", numbers->n_prompt_tokens).field("n_ctx", numbers->n_ctx);
  if (!error.memory.empty() || error.retry_after) {
    out.key("details").begin_object();
    if (error.retry_after) out.field("retry_after", error.retry_after->count());
    if (!error.memory.empty()) {
      out.key("memory").begin_array();
      for (const auto& need : error.memory) {
        out.begin_object().field("device", need.device).field("need", need.need).field("have", need.have).end_object();
      }
      out.end_array();
    }
    out.end_object();
  }
  out.end_object().end_object();
}

}  // namespace

std::span<const StatusRow> status_table() { return kStatuses; }

const StatusRow& status_row(ErrorKind kind) {
  const auto row = std::ranges::find(kStatuses, kind, &StatusRow::kind);
  return row == kStatuses.end() ? kStatuses.front() : *row;
}

unsigned http_status(const Error& error) {
  if (error.code == make_error_code(errc::method_not_allowed)) return 405;
  if (error.code == make_error_code(http::errc::timed_out)) return 408;  // the client was slow, not an upstream
  if (error.code == make_error_code(http::errc::unsupported_encoding)) return 415;
  return status_row(kind_of(error.code)).status;
}

std::string error_body(const Error& error, Style style) {
  std::string body;
  json::Writer out(body);
  switch (style) {
    case Style::openai:
      write_openai(out, error);
      break;
    case Style::anthropic:
      write_anthropic(out, error);
      break;
    case Style::ollama:
      out.begin_object().field("error", error.message).end_object();
      break;
    case Style::cohere:
      out.begin_object().field("message", error.message).end_object();
      break;
  }
  return body;
}

ErrorAnswer error_answer(const Error& error, Style style) {
  return {.status = http_status(error), .body = error_body(error, style), .retry_after = error.retry_after};
}

std::string sse_error_event(const Error& error, Style style) {
  const auto body = error_body(error, style);
  return style == Style::anthropic ? http::sse_event("error", body) : http::sse_data(body);
}

Error path_error(std::string_view method, std::string_view path, unsigned status) {
  if (status == 405)
    return {make_error_code(errc::method_not_allowed), fmt::format("{} does not support {} requests", path, method)};
  return {make_error_code(errc::unknown_path), fmt::format("unknown path {}", path)};
}

Error parse_error_body(unsigned status, std::string_view body) {
  const auto kind = kind_of_status(status);
  const auto foreign = [&] {
    const auto text = body.substr(0, std::min(body.size(), kMaxForeignText));
    return Error(remote_cause(kind),
                 text.empty() ? fmt::format("the server returned status {}", status) : std::string(text));
  };
  const auto parsed = json::parse(body);
  if (!parsed) return foreign();
  const auto* inner = json::find(*parsed, "error");
  if (!inner) return foreign();
  if (const auto* text = inner->if_string()) return {remote_cause(kind), std::string(text->data(), text->size())};
  const auto message = json::text_or(*inner, "message", {});
  if (message.empty()) return foreign();
  // llama-server's errors have a number as their code.
  const bool too_long = json::text_or(*inner, "type", {}) == kContextSizeType;
  const auto code = too_long ? std::string_view("context_length_exceeded") : json::text_or(*inner, "code", {});
  Error error(cause_of(kind, code), std::string(message), std::string(json::text_or(*inner, "param", {})));
  const auto tokens = json::number_or(*inner, "n_prompt_tokens", -1), context = json::number_or(*inner, "n_ctx", -1);
  if (error.code == errc::context_length_exceeded && tokens >= 0 && context >= 0 && tokens < 1e15 && context < 1e15)
    error.facts = ContextNumbers{static_cast<std::uint64_t>(tokens), static_cast<std::uint64_t>(context)};
  if (const auto* details = json::find(*inner, "details")) {
    const auto seconds = json::number_or(*details, "retry_after", -1);
    if (seconds >= 0 && seconds < 1e9) error.retry_after = std::chrono::seconds(static_cast<std::int64_t>(seconds));
    if (const auto* memory = json::find(*details, "memory"); memory && memory->is_array()) {
      for (const auto& need : memory->get_array()) {
        error.memory.push_back({std::string(json::text_or(need, "device", {})),
                                json::to_count(json::number_or(need, "need", 0)).value_or(0),
                                json::to_count(json::number_or(need, "have", 0)).value_or(0)});
      }
    }
  }
  return error;
}

}  // namespace corral::protocol
