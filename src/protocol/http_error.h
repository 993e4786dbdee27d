// Errors as answers: one table from kinds of causes to status and `type`, one renderer per style, and the way back for
// clients. Which style a client wants is decided in dialects/. Pure functions over values; safe on every thread.
//
//   openai     {"error":{"message","type","code","param"}}        code: the name of the cause in its folder's table
//   anthropic  {"type":"error","error":{"type","message"}}
//   ollama     {"error":"text"}
//   cohere     {"message":"text"}
// An OpenAI error carries "details" {"memory":[{"device","need","have"}], "retry_after"} where there are any (bytes,
// seconds), and "n_prompt_tokens" and "n_ctx" where a context is too small.
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

// What is sent to say so.
struct ErrorAnswer {
  unsigned status = 500;
  std::string body;  // JSON
  std::optional<std::chrono::seconds> retry_after = {};
};
ErrorAnswer error_answer(const Error& error, Style style = Style::openai);
// The body alone.
std::string error_body(const Error& error, Style style = Style::openai);
// For streams whose head went out already: one framed "data: {"error":{...}}" event.
std::string sse_error_event(const Error& error, Style style = Style::openai);

// What is wrong with a path: 404, or 405 for its method.
Error path_error(std::string_view method, std::string_view path, unsigned status);

// What an answer with an error status says, in any of the three styles. Texts that are none of them become the message
// as they are (cut after 500 bytes).
Error parse_error_body(unsigned status, std::string_view body);

}  // namespace corral::protocol
