// Bodies that are pulled while they are sent.
#include "http/http_fixture_for_tests.h"

namespace corral::http {
namespace {

using UploadTest = HttpTest;
using End = Pieces::End;

// Piece after piece, as many as anybody takes; counts them.
class Counted final : public BodySource {
 public:
  explicit Counted(std::size_t pieces) : left_(pieces) {}
  Task<Result<std::string_view>> read() override {
    co_await asio::post(async::use_task);
    if (left_ == 0) co_return std::string_view();
    --left_;
    ++taken;
    co_return std::string_view(piece_);
  }
  std::size_t taken = 0;

 private:
  const std::string piece_ = std::string(64 * 1024, 'x');
  std::size_t left_;
};

// With an announced length.
class Announced final : public BodySource {
 public:
  explicit Announced(std::string text) : text_(std::move(text)) {}
  Task<Result<std::string_view>> read() override {
    co_return std::exchange(done_, true) ? std::string_view() : std::string_view(text_);
  }
  std::optional<std::uint64_t> length() const override { return text_.size(); }

 private:
  const std::string text_;
  bool done_ = false;
};

TEST_F(UploadTest, ArrivesWholeInChunksOrWithItsLength) {
  std::string framing;
  handler.function = [&](Request request) -> Task<Response> {
    framing = std::string(request.head.headers.get("Content-Length"));
    auto body = co_await request.body.read_all(1 << 20);
    co_return Response::text(200, "text/plain", body ? *body : body.error().message);
  };
  serve();
  run([&]() -> Task<void> {
    auto to = client();
    for (int round = 0; round < 2; ++round) {
      Pieces chunks({"one ", "two ", "three"}, End::finish);
      const auto head = post("/");
      auto answer = co_await to.upload(head, chunks);
      EXPECT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(*co_await answer->body.read_all(100), "one two three");
      EXPECT_EQ(framing, "");
      Announced announced("whole");
      answer = co_await to.upload(head, announced);
      EXPECT_EQ(*co_await answer->body.read_all(100), "whole");
      EXPECT_EQ(framing, "5");
      Announced nothing("");
      answer = co_await to.upload(head, nothing);
      EXPECT_EQ(*co_await answer->body.read_all(100), "");
    }
  });
}

TEST_F(UploadTest, IsPulledNoFasterThanItIsRead) {
  async::Event go_on(pool.home().executor());
  handler.function = [&](Request request) -> Task<Response> {
    co_await go_on.wait();
    auto body = co_await request.body.read_all(1ull << 30);
    co_return Response::text(200, "text/plain", body ? std::to_string(body->size()) : body.error().message);
  };
  ServerOptions options;
  options.max_body_bytes = options.max_bodies_bytes = 1ull << 30;
  serve(options);
  run([&]() -> Task<void> {
    auto to = client();
    Counted body(1024);
    async::TaskGroup sending(pool.home().executor());
    std::string reply;
    auto send_it = [&]() -> Task<void> {
      const auto head = post("/");
      auto answer = co_await to.upload(head, body);
      reply = answer ? *co_await answer->body.read_all(100) : answer.error().message;
    };
    sending.spawn("upload", send_it());
    std::size_t before = 0;
    do {  // until nothing more goes into the sockets' buffers
      before = body.taken;
      for (int i = 0; i < 1000; ++i) co_await turn();
    } while (body.taken != before || before == 0);
    EXPECT_LT(body.taken, 512u);
    go_on.set();
    co_await sending.join();
    EXPECT_EQ(reply, std::to_string(1024 * 64 * 1024));
  });
}

TEST_F(UploadTest, AnAnswerBeforeTheEndEndsTheSending) {
  async::Event never(pool.home().executor());
  handler.function = [&](Request) -> Task<Response> { co_return Response::text(403, "text/plain", "not you"); };
  serve();
  run([&]() -> Task<void> {
    auto to = client();
    Pieces hangs({"a", "b"}, End::hang, &never);
    const auto head = post("/");
    auto answer = co_await to.upload(head, hangs);
    EXPECT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->head.status, 403u);
    EXPECT_EQ(*co_await answer->body.read_all(100), "not you");
  });
}

TEST_F(UploadTest, WhatFailsInTheMiddleArrivesAsBroken) {
  Result<std::string> got = "nothing";
  async::Event read(pool.home().executor());
  handler.function = [&](Request request) -> Task<Response> {
    struct Notify {
      async::Event& event;
      ~Notify() { event.set(); }
    } const notify{read};
    got = co_await request.body.read_all(100);
    co_return Response::text(200, "text/plain", "");
  };
  serve();
  run([&]() -> Task<void> {
    auto to = client();
    Pieces breaks({"a"}, End::fail);
    const auto head = post("/");
    const auto answer = co_await to.upload(head, breaks);
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "gone") << "the source's own error";
    co_await read.wait();
  });
  EXPECT_TRUE(!got || *got == "nothing") << "half a body never looks whole";
}

TEST_F(UploadTest, PassesThroughAServerOnItsWay) {
  // Both are one server: "/" passes on to "/far", which answers while it is pulled.
  std::optional<Client> far;
  handler.function = [&](Request request) -> Task<Response> {
    if (request.head.target == "/far") {
      auto body = co_await request.body.read_all(1 << 20);
      const std::string text = body ? *body : body.error().message;
      co_return Response{ResponseHead{200, {}},
                         Body(std::make_unique<Pieces>(std::vector<std::string>{"got ", text}, End::finish))};
    }
    const auto head = post("/far");
    auto source = request.body.take_source();
    auto answer = co_await far->upload(head, *source);
    co_return answer ? std::move(*answer) : Response::text(502, "text/plain", answer.error().message);
  };
  serve();
  far.emplace(pool.home().executor(), timers, TcpEndpoint{"127.0.0.1", port});
  run([&]() -> Task<void> {
    auto to = client();
    Pieces chunks({"one ", "two"}, End::finish);
    const auto head = post("/");
    auto answer = co_await to.upload(head, chunks);
    EXPECT_EQ(*co_await answer->body.read_all(100), "got one two");
    far.reset();
  });
}

// The one in the middle waits for its client when the answer comes, and that wait must not be what it tells.
TEST_F(UploadTest, AnEarlyAnswerPassesThroughAServerOnItsWay) {
  std::optional<Client> far;
  async::Event never(pool.home().executor());
  handler.function = [&](Request request) -> Task<Response> {
    if (request.head.target == "/far") co_return Response::text(413, "text/plain", "too much");
    const auto head = post("/far");
    auto source = request.body.take_source();
    auto answer = co_await far->upload(head, *source);
    co_return answer ? std::move(*answer) : Response::text(502, "text/plain", answer.error().message);
  };
  serve();
  far.emplace(pool.home().executor(), timers, TcpEndpoint{"127.0.0.1", port});
  run([&]() -> Task<void> {
    auto to = client();
    Pieces hangs({"a", "b"}, End::hang, &never);
    const auto head = post("/");
    auto answer = co_await to.upload(head, hangs);
    EXPECT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->head.status, 413u);
    EXPECT_EQ(*co_await answer->body.read_all(100), "too much");
    far.reset();
  });
}

// One that says no leaves the body whole: it can be sent to somebody else.
TEST_F(UploadTest, IsPulledOnlyWhenTheServerWantsItWhereTheClientAsks) {
  bool wanted = false;
  handler.function = [&](Request request) -> Task<Response> {
    if (!wanted) co_return Response::text(421, "text/plain", "not here");
    auto body = co_await request.body.read_all(1 << 20);
    co_return Response::text(200, "text/plain", body ? *body : body.error().message);
  };
  serve();
  run([&]() -> Task<void> {
    Client to(pool.home().executor(), timers, TcpEndpoint{"127.0.0.1", port}, {.ask_before_upload = true});
    const auto head = post("/");
    Counted untouched(3);
    auto answer = co_await to.upload(head, untouched);
    EXPECT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->head.status, 421u);
    EXPECT_EQ(*co_await answer->body.read_all(100), "not here");
    EXPECT_EQ(untouched.taken, 0u);
    wanted = true;
    for (int round = 0; round < 2; ++round) {
      Pieces chunks({"one ", "two ", "three"}, End::finish);
      answer = co_await to.upload(head, chunks);
      EXPECT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(*co_await answer->body.read_all(100), "one two three");
      Announced announced("whole");
      answer = co_await to.upload(head, announced);
      EXPECT_EQ(*co_await answer->body.read_all(100), "whole");
    }
  });
}

}  // namespace
}  // namespace corral::http
