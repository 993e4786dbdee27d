// For tests of error formats: a row for each cause, with all that a client sees of it in every dialect.
#pragma once

#include <cctype>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "dialects/error_filter.h"

namespace corral::dialects {

struct CauseRow {
  std::error_code cause;
  unsigned status;
  std::string_view code;       // OpenAI's "code"
  std::string_view type;       // OpenAI's "type"
  std::string_view anthropic;  // Anthropic's "type"
};
inline void PrintTo(const CauseRow& row, std::ostream* out) {
  *out << row.cause.category().name() << ' ' << row.cause.value() << ' ' << row.code;
}
// "protocol_1".
inline std::string name_of(const testing::TestParamInfo<CauseRow>& info) {
  std::string name = info.param.cause.category().name();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name + '_' + std::to_string(info.param.cause.value());
}

// What the server answers to a request for `target` that fails with this.
inline http::Response refused_with(const Error& error, std::string target) {
  struct Refusing final : http::Handler {
    explicit Refusing(const Error& why) : why(why) {}
    async::Task<http::Response> handle(http::Request) override { co_return error_response(why); }
    const Error& why;
  };
  async::Loop loop;
  Refusing inside(error);
  ErrorFilter translator(inside);
  http::Request request;
  request.head.target = std::move(target);
  request.id = RequestId("req-7");
  return async::run_blocking(loop, translator.handle(std::move(request)));
}

// Status and complete body, at a path of each dialect.
inline void expect_error_in_dialects(const CauseRow& row) {
  const Error error(row.cause, "why");
  const auto openai =
      fmt::format(R"({{"error":{{"message":"why","type":"{}","code":"{}","param":null}}}})", row.type, row.code);
  const auto anthropic =
      fmt::format(R"({{"type":"error","error":{{"type":"{}","message":"why"}},"request_id":"req-7"}})", row.anthropic);
  const std::string ollama = R"({"error":"why"})";
  struct ExpectedError {
    const char* path;
    const std::string& body;
  };
  for (const auto& [path, body] :
       {ExpectedError{"/v1/chat/completions", openai}, ExpectedError{"/v1/responses", openai},
        ExpectedError{"/completion", openai}, ExpectedError{"/v1/messages", anthropic},
        ExpectedError{"/v1/messages/count_tokens", anthropic}, ExpectedError{"/api/chat", ollama},
        ExpectedError{"/api/embed", ollama}}) {
    const auto answer = refused_with(error, path);
    EXPECT_EQ(answer.head.status, row.status) << path;
    EXPECT_EQ(answer.body.text(), body) << path;
    EXPECT_EQ(answer.head.headers.get("Content-Type"), "application/json") << path;
  }
}

// Fails for each cause of the category that has no row.
inline void expect_rows_for_all(const std::error_category& category, const auto& rows) {
  int value = 1;
  for (; category.message(value) != "unknown"; ++value) {
    bool found = false;
    for (const CauseRow& row : rows) found = found || row.cause == std::error_code(value, category);
    EXPECT_TRUE(found) << category.name() << ": " << category.message(value) << " has no row";
  }
  EXPECT_GT(value, 1) << category.name() << " has no causes";
}

}  // namespace corral::dialects
