// What a client sees of each cause, in every dialect: the causes of this folder's neighbours below. Those of the
// folders above are in api/error_table_test.cpp.
#include <vector>

#include <gmock/gmock.h>

#include "dialects/dialect.h"
#include "dialects/error_rows_for_tests.h"
#include "http/errors.h"
#include "http/sse.h"
#include "json/errors.h"
#include "json/value.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

using testing::HasSubstr;

const std::vector<CauseRow> kRows = {
    {make_error_code(protocol::errc::missing_field), 400, "missing_required_parameter", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::wrong_type), 400, "invalid_type", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::bad_value), 400, "invalid_value", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::unsupported_value), 400, "unsupported_value", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::context_length_exceeded), 400, "context_length_exceeded", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::wrong_model_type), 400, "wrong_model_type", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::unknown_path), 404, "unknown_path", "not_found_error", "not_found_error"},
    {make_error_code(protocol::errc::method_not_allowed), 405, "method_not_allowed", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::remote_internal), 500, "internal_error", "server_error", "api_error"},
    {make_error_code(protocol::errc::remote_invalid_request), 400, "invalid_request", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::remote_unauthorized), 401, "unauthorized", "authentication_error",
     "authentication_error"},
    {make_error_code(protocol::errc::remote_forbidden), 403, "forbidden", "permission_error", "permission_error"},
    {make_error_code(protocol::errc::remote_not_found), 404, "not_found", "not_found_error", "not_found_error"},
    {make_error_code(protocol::errc::remote_conflict), 409, "conflict", "conflict_error", "conflict_error"},
    {make_error_code(protocol::errc::remote_too_large), 413, "too_large", "request_too_large", "request_too_large"},
    {make_error_code(protocol::errc::remote_unprocessable), 422, "unprocessable", "unprocessable_error",
     "invalid_request_error"},
    {make_error_code(protocol::errc::remote_rate_limited), 429, "rate_limited", "rate_limit_error", "rate_limit_error"},
    {make_error_code(protocol::errc::remote_unavailable), 503, "unavailable", "unavailable_error", "overloaded_error"},
    {make_error_code(protocol::errc::remote_upstream), 502, "upstream_failed", "upstream_error", "api_error"},
    {make_error_code(protocol::errc::remote_timeout), 504, "timeout", "timeout_error", "timeout_error"},
    {make_error_code(protocol::errc::remote_cancelled), 499, "cancelled", "cancelled_error", "invalid_request_error"},
    {make_error_code(http::errc::malformed), 400, "malformed_http", "invalid_request_error", "invalid_request_error"},
    {make_error_code(http::errc::header_too_large), 413, "header_too_large", "request_too_large", "request_too_large"},
    {make_error_code(http::errc::too_large), 413, "body_too_large", "request_too_large", "request_too_large"},
    {make_error_code(http::errc::truncated), 400, "body_truncated", "invalid_request_error", "invalid_request_error"},
    {make_error_code(http::errc::timed_out), 408, "peer_timed_out", "timeout_error", "timeout_error"},
    {make_error_code(http::errc::peer_closed), 502, "peer_closed", "upstream_error", "api_error"},
    {make_error_code(http::errc::connect_failed), 502, "connect_failed", "upstream_error", "api_error"},
    {make_error_code(http::errc::address_in_use), 409, "address_in_use", "conflict_error", "conflict_error"},
    {make_error_code(http::errc::bad_address), 400, "bad_address", "invalid_request_error", "invalid_request_error"},
    {make_error_code(http::errc::unknown_coding), 400, "unknown_transfer_coding", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(http::errc::bodies_full), 503, "request_bodies_full", "unavailable_error", "overloaded_error"},
    {make_error_code(http::errc::uploads_full), 503, "uploads_full", "unavailable_error", "overloaded_error"},
    {make_error_code(http::errc::not_kept), 500, "upload_not_kept", "server_error", "api_error"},
    {make_error_code(http::errc::unsupported_encoding), 415, "unsupported_content_encoding", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(http::errc::bad_encoding), 400, "invalid_content_encoding", "invalid_request_error",
     "invalid_request_error"},
    {make_error_code(json::errc::malformed), 400, "invalid_json", "invalid_request_error", "invalid_request_error"},
    {make_error_code(json::errc::bad_number), 400, "invalid_number", "invalid_request_error", "invalid_request_error"},
};

class ErrorTable : public testing::TestWithParam<CauseRow> {};

TEST_P(ErrorTable, IsToldInEveryDialect) { expect_error_in_dialects(GetParam()); }

// The translator of an endpoint, for a body that it takes.
std::unique_ptr<ResponseTranslator> translator_for(const Dialect& dialect, std::string_view path, std::string body) {
  for (const auto& endpoint : dialect.endpoints) {
    if (endpoint.path != path) continue;
    auto asked = endpoint.read(std::move(body));
    if (asked && endpoint.make_translator != nullptr) return endpoint.make_translator(*asked);
  }
  return nullptr;
}

// A stream has begun: its head is out, and the status can't say it any more.
TEST_P(ErrorTable, IsToldInTheMiddleOfStreams) {
  const auto& row = GetParam();
  const Error error(row.cause, "why");
  EXPECT_EQ(
      protocol::sse_error_event(error),
      fmt::format("data: {{\"error\":{{\"message\":\"why\",\"type\":\"{}\",\"code\":\"{}\",\"param\":null}}}}\n\n",
                  row.type, row.code));

  const auto anthropic = translator_for(anthropic_dialect(), "messages",
                                        R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]})");
  ASSERT_NE(anthropic, nullptr);
  std::string out;
  anthropic->failure(out, error);
  EXPECT_EQ(out,
            fmt::format("event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{}\",\"message\":\"why\"}}}}"
                        "\n\n",
                        row.anthropic));

  for (const auto& [path, body] :
       {std::pair("/api/chat", R"({"model":"m","messages":[{"role":"user","content":"x"}]})"),
        std::pair("/api/generate", R"({"model":"m","prompt":"x"})")}) {
    const auto ollama = translator_for(ollama_dialect(), path, body);
    ASSERT_NE(ollama, nullptr) << path;
    out.clear();
    ollama->failure(out, error);
    EXPECT_EQ(out, "{\"error\":\"why\"}\n") << path;
  }

  const auto responses = translator_for(responses_dialect(), "responses", R"({"model":"m","input":"x"})");
  ASSERT_NE(responses, nullptr);
  out.clear();
  responses->failure(out, error);
  std::vector<std::string> events;
  http::SseParser parser([&](std::string_view name, std::string_view data) {
    events.push_back(std::string(name));
    if (name != "response.failed") return;
    const auto parsed = json::parse(data);
    ASSERT_TRUE(parsed);
    const auto& response = parsed->at("response");
    EXPECT_EQ(json::serialize(response.at("status")), R"("failed")");
    // What its clients know: no prompt of this kind will ever do; wait; try again.
    const bool too_long = row.code == "context_length_exceeded", refused = row.type == "invalid_request_error";
    EXPECT_EQ(json::serialize(response.at("error")),
              fmt::format(R"({{"code":"{}","message":"why"}})", too_long  ? "context_length_exceeded"
                                                                : refused ? "invalid_prompt"
                                                                : row.type == "rate_limit_error" ? "rate_limit_exceeded"
                                                                                                 : "server_error"));
  });
  parser.feed(out);
  EXPECT_THAT(events, testing::ElementsAre("response.created", "response.in_progress", "response.failed"));
}

INSTANTIATE_TEST_SUITE_P(Causes, ErrorTable, testing::ValuesIn(kRows), name_of);

TEST(ErrorTables, NoCauseIsWithoutARow) {
  for (const auto* category : {&protocol::error_category(), &http::error_category(), &json::error_category()})
    expect_rows_for_all(*category, kRows);
}

// What an error knows beside its text.
TEST(ErrorTables, NumbersAreTold) {
  auto error = protocol::context_exceeded({.n_prompt_tokens = 90, .n_ctx = 64}, "why", "messages");
  error.retry_after = std::chrono::seconds(7);
  error.memory.push_back({"cuda0", 20, 10});
  const auto openai = refused_with(error, "/v1/chat/completions");
  EXPECT_EQ(openai.body.text(),
            R"({"error":{"message":"why","type":"exceed_context_size_error","code":"context_length_exceeded",)"
            R"("param":"messages","n_prompt_tokens":90,"n_ctx":64,"details":{"retry_after":7,)"
            R"("memory":[{"device":"cuda0","need":20,"have":10}]}}})");
  const auto anthropic = refused_with(error, "/v1/messages");
  EXPECT_EQ(anthropic.body.text(), R"({"type":"error","error":{"type":"invalid_request_error","message":)"
                                   R"("prompt is too long: 90 tokens > 64 maximum; why"},"request_id":"req-7"})");
  const auto ollama = refused_with(error, "/api/chat");
  EXPECT_EQ(ollama.body.text(), R"({"error":"why"})");
  for (const auto* answer : {&openai, &anthropic, &ollama}) {
    EXPECT_EQ(answer->head.status, 400u);
    EXPECT_EQ(answer->head.headers.get("Retry-After"), "7");
  }
  EXPECT_EQ(anthropic.head.headers.get("request-id"), "req-7");
}

}  // namespace
}  // namespace corral::dialects
