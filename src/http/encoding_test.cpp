// Bodies with a Content-Encoding, over real sockets.
#include "async/offload.h"
#include "http/encoding_for_tests.h"
#include "http/http_fixture_for_tests.h"
#include "http/passing.h"

namespace corral::http {
namespace {

class EncodingTest : public HttpTest {
 protected:
  void SetUp() override {
    handler.function = [this](Request request) -> Task<Response> {
      seen = request.head;
      length = request.body.streaming() ? request.body.source()->length() : std::nullopt;
      if (auto* passing = dynamic_cast<PassingBody*>(request.body.source()); passing != nullptr && passes)
        passing->passes_by();
      std::string text;
      std::uint64_t size = 0;
      while (request.body.streaming()) {
        const auto piece = co_await request.body.source()->read();
        if (!piece) {
          const auto again = co_await request.body.source()->read();
          EXPECT_FALSE(again);
          if (!again) EXPECT_EQ(again.error().message, piece.error().message);
          co_return Response::text(400, "text/plain", piece.error().code.message());
        }
        if (piece->empty()) break;
        size += piece->size();
        counted = std::max(counted, server->bodies_bytes());
        if (text.size() < 200'000) text.append(*piece);
        if (on_piece) on_piece();
      }
      counted_at_end = server->bodies_bytes();
      co_return Response::text(200, "text/plain", size < 1000 ? text : std::to_string(size));
    };
  }
  static RequestHead encoded_as(std::string_view coding) {
    auto head = http::post("/v1/x");
    head.headers.add("Content-Type", "application/json");
    if (!coding.empty()) head.headers.add("Content-Encoding", coding);
    return head;
  }
  // The status and the text of the answer.
  Task<std::pair<unsigned, std::string>> ask(RequestHead head, std::string body) {
    auto http = client();
    auto response = co_await http.send(head, body);
    if (!response) co_return std::pair(0u, response.error().message);
    auto text = co_await response->body.read_all(1 << 20);
    co_return std::pair(response->head.status, text ? *text : text.error().message);
  }
  using Answer = std::pair<unsigned, std::string>;

  RequestHead seen;
  std::optional<std::uint64_t> length;
  std::uint64_t counted = 0, counted_at_end = 0;
  bool passes = false;
  std::function<void()> on_piece;
};

TEST_F(EncodingTest, EncodedBodiesReachTheirHandlersDecoded) {
  serve();
  run([&]() -> Task<void> {
    const std::string text = R"({"model":"m"})";
    const std::pair<std::string, std::string> rows[] = {
        {"gzip", gzipped(text)},         {"X-GZIP", gzipped(text)},
        {"deflate", deflated(text, 15)}, {"deflate", deflated(text, -15)},
        {"zstd", zstd_of(text)},         {"deflate, gzip, zstd", zstd_of(gzipped(deflated(text, 15)))},
    };
    for (const auto& [coding, body] : rows) {
      const auto head = encoded_as(coding);
      EXPECT_EQ(co_await ask(head, body), Answer(200, text)) << coding;
      EXPECT_FALSE(seen.headers.has("Content-Encoding"));
      EXPECT_FALSE(seen.headers.has("Content-Length"));
      EXPECT_EQ(seen.headers.get("Content-Type"), "application/json");
      EXPECT_EQ(length, std::nullopt);
    }
    EXPECT_EQ(co_await ask(encoded_as("gzip"), ""), Answer(200, ""));
    for (const std::string plain : {"identity", ""}) {
      EXPECT_EQ(co_await ask(encoded_as(plain), text), Answer(200, text));
      EXPECT_EQ(length, text.size());
    }
  });
}

TEST_F(EncodingTest, OneConnectionTakesEncodedAndPlainBodies) {
  serve();
  run([&]() -> Task<void> {
    auto http = client();
    for (int round = 0; round < 3; ++round) {
      for (const auto& [coding, body] : {std::pair("gzip", gzipped("one")), std::pair("", std::string("one"))}) {
        const auto head = encoded_as(coding);
        auto response = co_await http.send(head, body);
        EXPECT_EQ(*co_await response->body.read_all(100), "one");
        EXPECT_EQ(server->connections(), 1u);
      }
    }
  });
}

TEST_F(EncodingTest, OthersAreRefusedBeforeTheyAreSent) {
  handler.rewrite = [](std::string_view path, Response answer) {
    answer.body = Body(std::string(path) + ": " + answer.failure->message);
    return answer;
  };
  bool asked = false;
  handler.function = [&](Request) -> Task<Response> {
    asked = true;
    co_return Response();
  };
  serve();
  run([&]() -> Task<void> {
    for (const std::string coding : {"br", "gzip, compress", "gzip, gzip, gzip, gzip"}) {
      const auto answer =
          co_await raw("POST /v1/x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Encoding: " + coding +
                       "\r\nContent-Length: 5\r\n\r\n");
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 415 Unsupported Media Type\r\n")) << answer;
      EXPECT_NE(answer.find("\r\nAccept-Encoding: gzip, deflate, zstd\r\n"), std::string::npos) << answer;
      EXPECT_NE(answer.find("\r\n\r\n/v1/x: "), std::string::npos) << answer;
    }
    EXPECT_FALSE(asked);
    // Without a body there is nothing to decode.
    const auto answer = co_await raw("GET / HTTP/1.1\r\nHost: x\r\nContent-Encoding: br\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  });
}

TEST_F(EncodingTest, WhatIsBrokenOrTooLargeFailsForItsReader) {
  ServerOptions options;
  options.max_body_bytes = 1'000'000;
  options.max_upload_bytes = 2'000'000;
  serve(options);
  run([&]() -> Task<void> {
    const std::string many(20'000'000, 'x');
    EXPECT_EQ(co_await ask(encoded_as("gzip"), gzipped(many)), Answer(400, "body_too_large"));
    EXPECT_EQ(co_await ask(encoded_as("zstd"), zstd_of(many)), Answer(400, "body_too_large"));
    EXPECT_EQ(co_await ask(encoded_as("gzip"), gzipped(many.substr(0, 1'000'000))), Answer(200, "1000000"));
    EXPECT_EQ(co_await ask(encoded_as("gzip"), gzipped("abc").substr(0, 10)), Answer(400, "body_truncated"));
    EXPECT_EQ(co_await ask(encoded_as("gzip"), "no gzip at all"), Answer(400, "invalid_content_encoding"));
    passes = true;
    auto form = encoded_as("gzip");
    form.headers.set("Content-Type", "multipart/form-data; boundary=x");
    EXPECT_EQ(co_await ask(form, gzipped(many.substr(0, 2'000'000))), Answer(200, "2000000"));
    EXPECT_EQ(co_await ask(form, gzipped(many)), Answer(400, "body_too_large"));
  });
  EXPECT_EQ(server->bodies_bytes(), 0u);
}

TEST_F(EncodingTest, DecodedBytesAndTheDecoderCountAgainstTheLimitOfAllBodies) {
  ServerOptions options;
  options.max_bodies_bytes = 8 << 20;
  serve(options);
  run([&]() -> Task<void> {
    const auto text = std::string(3 << 20, 'x');
    EXPECT_EQ(co_await ask(encoded_as("gzip"), gzipped(text)), Answer(200, std::to_string(text.size())));
    EXPECT_GT(counted, text.size()) << "the decoder, too";
    EXPECT_EQ(counted_at_end, text.size()) << "which is gone with the end of the body";
    counted = 0;
    passes = true;
    EXPECT_EQ(co_await ask(encoded_as("gzip"), gzipped(text)), Answer(200, std::to_string(text.size())));
    EXPECT_GT(counted, 0u);
    EXPECT_LT(counted, 1u << 20) << "only the decoder is in memory";
    EXPECT_EQ(counted_at_end, 0u);
    passes = false;
    EXPECT_EQ(co_await ask(encoded_as("gzip"), gzipped(std::string(20 << 20, 'x'))),
              Answer(400, "request_bodies_full"));
  });
  EXPECT_EQ(server->bodies_bytes(), 0u);
}

TEST_F(EncodingTest, WhileALargeBodyIsDecodedOthersAreAnswered) {
  async::ThreadPool threads(1);
  for (auto* const pool_of_decoder : {&threads, static_cast<async::ThreadPool*>(nullptr)}) {
    ServerOptions options;
    options.threads = pool_of_decoder;
    async::Event begun(pool.home().executor());
    on_piece = [&] { begun.set(); };
    serve(options);
    std::vector<std::string> order;
    run([&]() -> Task<void> {
      async::TaskGroup group(pool.home().executor());
      const auto large = [](auto& test, std::vector<std::string>& ends) -> Task<void> {
        const auto answer = co_await test.ask(encoded_as("gzip"), gzipped(std::string(30 << 20, 'x')));
        EXPECT_EQ(answer, Answer(200, std::to_string(30 << 20)));
        ends.emplace_back("large");
      };
      group.spawn("large", large(*this, order));
      co_await begun.wait();
      on_piece = nullptr;
      EXPECT_EQ(co_await ask(encoded_as(""), "small"), Answer(200, "small"));
      order.emplace_back("small");
      co_await group.join();
    });
    EXPECT_EQ(order, (std::vector<std::string>{"small", "large"}));
    server.reset();
  }
}

TEST_F(EncodingTest, AClientThatLeavesWhileItsBodyIsDecodedEndsThat) {
  async::ThreadPool threads(1);
  ServerOptions options;
  options.threads = &threads;
  async::Event begun(pool.home().executor());
  bool unwound = false, reached_end = false;
  handler.function = [&](Request request) -> Task<Response> {
    const AtEnd mark{unwound};
    while (true) {
      const auto piece = co_await request.body.source()->read();
      if (!piece || piece->empty()) break;
      begun.set();
    }
    reached_end = true;
    co_return Response();
  };
  serve(options);
  run([&]() -> Task<void> {
    {
      auto socket = co_await connected();
      // Many steps, and not all of it, so that its end would be an error.
      const auto body = gzipped(std::string(30 << 20, 'x'));
      co_await send(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body.substr(0, body.size() - 1));
      co_await begun.wait();
    }
    while (!unwound) co_await turn();
  });
  EXPECT_FALSE(reached_end) << "the decoding itself was ended";
}

}  // namespace
}  // namespace corral::http
