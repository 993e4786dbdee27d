#include "dialects/error_filter.h"

#include <string>

#include "dialects/paths.h"
#include "json/writer.h"

namespace corral::dialects {

using protocol::Style;

namespace {

// Anthropic's errors have the id of the request.
void add_request_id(http::Response& answer, std::string_view id) {
  answer.head.headers.set("request-id", std::string(id));
  if (answer.head.status < 400 || answer.body.streaming()) return;
  auto text = answer.body.text();
  text.pop_back();  // the closing brace
  text += R"(,"request_id":)";
  json::append_quoted(text, id);
  text += '}';
  answer.body = http::Body(std::move(text));
}

}  // namespace

http::Response error_response(const Error& error) {
  auto answer = protocol::error_answer(error);
  auto response = http::Response::json(answer.status, std::move(answer.body));
  if (answer.retry_after) response.head.headers.add("Retry-After", std::to_string(answer.retry_after->count()));
  response.failure = std::make_shared<const Error>(error);
  return response;
}

http::Response path_error(const http::Request& request, unsigned status) {
  return error_response(protocol::path_error(request.head.method, request.head.path(), status));
}

http::Response retold(http::Response answer, Style style) {
  // A stream reports errors in its own form.
  if (style == Style::openai || answer.head.status < 400 || answer.body.streaming()) return answer;
  const auto error =
      answer.failure ? *answer.failure : protocol::parse_error_body(answer.head.status, answer.body.text());
  answer.body = http::Body(protocol::error_body(error, style));
  answer.head.headers.set("Content-Type", "application/json");
  return answer;
}

http::Response ErrorFilter::refused(std::string_view path, http::Response answer) {
  const auto style = style_of_path(path);
  if (style == Style::openai && answer.failure) answer.body = http::Body(protocol::error_body(*answer.failure, style));
  const std::string id(answer.head.headers.get("X-Request-Id"));
  answer = retold(std::move(answer), style);
  if (style == Style::anthropic && !id.empty()) add_request_id(answer, id);
  return answer;
}

async::Task<http::Response> ErrorFilter::handle(http::Request request) {
  const auto style = style_of(request.head.path(), request.head.headers.has(kAnthropicVersion));
  const auto id = request.id;
  auto answering = inside_.handle(std::move(request));
  if (style == Style::openai) co_return co_await std::move(answering);
  auto answer = retold(co_await std::move(answering), style);
  // Anthropic's clients expect it under this name.
  if (style == Style::anthropic && !id.value().empty()) add_request_id(answer, id.value());
  co_return answer;
}

}  // namespace corral::dialects
