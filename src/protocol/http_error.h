// Errors as answers: one table from kinds of causes to status and `type`, one renderer per style, and a parser for
// clients. dialects/ chooses the style. Pure functions over values; safe on every thread.
//
//   openai     {"error":{"message","type","code","param"}}        code: the name of the cause in its folder's table
//   anthropic  {"type":"error","error":{"type","message"}}
//   ollama     {"error":"text"}
//   cohere     {"message":"text"}
//
// An OpenAI error has "details" {"memory":[{"device","need","have"}], "retry_after"} if known (bytes, seconds), and
// "n_prompt_tokens" and "n_ctx" for a too small context.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::protocol {

enum class Style { openai, anthropic, ollama, cohere };

struct StatusRow {
  ErrorKind kind;
  unsigned status;
  std::string_view openai_type;
  std::string_view anthropic_type;
};
std::span<const StatusRow> status_table();
const StatusRow& status_row(ErrorKind kind);

unsigned http_status(const Error& error);

// The HTTP answer of an error.
struct ErrorAnswer {
  unsigned status = 500;
  std::string body;  // JSON
  std::optional<std::chrono::seconds> retry_after = {};
};
ErrorAnswer error_answer(const Error& error, Style style = Style::openai);
// Only the body.
std::string error_body(const Error& error, Style style = Style::openai);
// For streams after their head: one framed "data: {"error":{...}}" event.
std::string sse_error_event(const Error& error, Style style = Style::openai);

// The error of a path: 404, or 405 for its method.
Error path_error(std::string_view method, std::string_view path, unsigned status);

// The `type` of errors of a context that is too small, in llama-server and here.
inline constexpr std::string_view kContextSizeType = "exceed_context_size_error";

// Parses an answer with an error status, in any style. Other texts become the message unchanged (cut after 500 bytes).
Error parse_error_body(unsigned status, std::string_view body);

}  // namespace corral::protocol
