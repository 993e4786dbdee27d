// Requests go to whoever lends: here a peer, without a process or a house.
#include "router/errors.h"
#include "router/router_fixture.h"

namespace corral::router {
namespace {

using LenderTest = RouterTest;

// A peer that answers: no process, no house.
class Peer final : public Lender {
 public:
  explicit Peer(async::Executor executor) : executor_(executor) {}
  Lease try_acquire(const ModelName&, std::uint64_t) override { return {}; }
  async::Task<Result<Lease>> acquire(backends::ModelPtr, ContextWish) override {
    if (!answers) co_return fail(errc::backend_unreachable, "the peer doesn't answer");
    co_return Lease(std::make_shared<Far>(executor_, asked), [this] { ++returned; });
  }
  void count(RequestEnd end) override { ends.push_back(end.outcome); }

  bool answers = true;
  int returned = 0;
  std::vector<std::string> asked;
  std::vector<Outcome> ends;

 private:
  class Far final : public Answering, public http::Target {
   public:
    Far(async::Executor executor, std::vector<std::string>& asked) : gone_(executor), asked_(asked) {}
    http::Target& target(async::Executor) override { return *this; }
    std::uint64_t context() const override { return 0; }
    async::Task<Ending> until_gone() override {
      co_await gone_.wait();
      co_return Ending{};
    }
    void stream_began() override {}
    void stream_ended() override {}
    async::Task<Result<http::Response>> send(const http::RequestHead& head, std::string_view body) override {
      asked_.push_back(head.target + " " + std::string(body));
      co_return http::Response::json(200, "{}");
    }
    async::Task<Result<http::Response>> upload(const http::RequestHead& head, http::BodySource& body) override {
      std::string text;
      while (true) {
        const auto piece = co_await body.read();
        if (!piece) co_return std::unexpected(piece.error());
        if (piece->empty()) break;
        text.append(*piece);
      }
      co_return co_await send(head, text);
    }

   private:
    async::Event gone_;
    std::vector<std::string>& asked_;
  };
  const async::Executor executor_;
};

TEST_F(LenderTest, AsksWhoeverLends) {
  Peer peer(loop.executor());
  Forwarder far(peer, timers);
  for (const bool stream : {false, true}) {
    ForwardRequest asked{model("a"), protocol::Ask::completion, "{}", stream, RequestId("far"), {}};
    auto response = run(far.forward(std::move(asked)));
    ASSERT_TRUE(response.done());
    EXPECT_EQ(response.get().head.status, 200u);
    if (response.get().body.streaming()) EXPECT_EQ(reader(response).text(), "{}");
  }
  EXPECT_THAT(peer.asked, ElementsAre("/v1/completions {}", "/v1/completions {}"));
  EXPECT_EQ(peer.returned, 2);
  EXPECT_THAT(peer.ends, ElementsAre(Outcome::ok, Outcome::ok));
  peer.answers = false;
  ForwardRequest asked{model("a"), protocol::Ask::completion, "{}", false, RequestId("far"), {}};
  auto refused = run(far.forward(std::move(asked)));
  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.get().head.status, 502u);
  EXPECT_THAT(backend.servers(), IsEmpty());
}

}  // namespace
}  // namespace corral::router
