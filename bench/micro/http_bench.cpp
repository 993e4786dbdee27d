// A request's way through the parser: head as usual clients send it, then a small body.
#include <string>

#include <benchmark/benchmark.h>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include "http/beast/reader.h"

namespace corral::http {
namespace {

std::string request(std::string_view more_headers, std::size_t body) {
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n{}Content-Type: "
      "application/json\r\nContent-Length: {}\r\n\r\n{}",
      more_headers, body, std::string(body, 'x'));
}

// As the reader does it: put() until the message is complete.
void parse(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    Parser<true> parser;
    std::size_t used = 0;
    while (!parser.is_done()) {
      boost::beast::error_code error;
      used += parser.put(boost::asio::buffer(text.data() + used, text.size() - used), error);
      if (error && error != boost::beast::http::error::need_more) {
        state.SkipWithError(error.message().c_str());
        return;
      }
    }
    benchmark::DoNotOptimize(parser.head);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void parse_few_headers(benchmark::State& state) { parse(state, request("", 300)); }
BENCHMARK(parse_few_headers);

// What the OpenAI clients send.
void parse_many_headers(benchmark::State& state) {
  parse(
      state,
      request("Accept: application/json\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: keep-alive\r\n"
              "User-Agent: OpenAI/Python 1.99.0\r\nX-Stainless-Lang: python\r\nX-Stainless-Package-Version: 1.99.0\r\n"
              "X-Stainless-OS: Linux\r\nX-Stainless-Arch: x64\r\nX-Stainless-Runtime: CPython\r\n"
              "X-Stainless-Runtime-Version: 3.12.1\r\nX-Stainless-Async: false\r\nx-stainless-retry-count: 0\r\n"
              "x-stainless-read-timeout: 600\r\nAuthorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n",
              300));
}
BENCHMARK(parse_many_headers);

}  // namespace
}  // namespace corral::http
