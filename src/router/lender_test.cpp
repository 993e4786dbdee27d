// The forwarder needs only a LeaseProvider: here a peer, without a process or a core.
#include <algorithm>

#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

using LenderTest = RouterTest;

// A peer that answers: no process, no core.
class Peer final : public LeaseProvider {
 public:
  explicit Peer(async::Executor executor) : executor_(executor) {}
  Lease try_acquire(const models::ModelInfo&, std::uint64_t) override { return {}; }
  async::Task<Result<Lease>> acquire(backends::ModelPtr, LeaseRequest) override {
    if (!answers) co_return fail(errc::backend_unreachable, "the peer doesn't answer");
    co_return Lease(std::make_shared<Far>(executor_, asked), [this] { ++returned; });
  }
  void count(RequestEnd end) override { ends.push_back(end.outcome); }

  bool answers = true;
  int returned = 0;
  std::vector<std::string> asked;
  std::vector<Outcome> ends;

 private:
  class Far final : public Upstream, public http::Target {
   public:
    Far(async::Executor executor, std::vector<std::string>& asked) : gone_(executor), asked_(asked) {}
    http::Target& target(async::Executor) override { return *this; }
    std::uint64_t context() const override { return 0; }
    async::Task<UpstreamExit> wait_for_exit() override {
      co_await gone_.wait();
      co_return UpstreamExit{};
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
    auto response = run(answered(far.forward(std::move(asked))));
    ASSERT_TRUE(response.done());
    EXPECT_EQ(response.get().head.status, 200u);
    if (response.get().body.streaming()) EXPECT_EQ(reader(response).text(), "{}");
  }
  EXPECT_THAT(peer.asked, ElementsAre("/v1/completions {}", "/v1/completions {}"));
  EXPECT_EQ(peer.returned, 2);
  EXPECT_THAT(peer.ends, ElementsAre(Outcome::ok, Outcome::ok));
  peer.answers = false;
  ForwardRequest asked{model("a"), protocol::Ask::completion, "{}", false, RequestId("far"), {}};
  auto refused = run(answered(far.forward(std::move(asked))));
  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.get().head.status, 502u);
  EXPECT_THAT(backend.servers(), IsEmpty());
}

// Two nodes, of which the first one hasn't begun, or goes while it works.
class Nodes final : public LeaseProvider {
 public:
  explicit Nodes(async::Executor executor) : executor_(executor) {}
  Lease try_acquire(const models::ModelInfo&, std::uint64_t) override { return {}; }
  async::Task<Result<Lease>> acquire(backends::ModelPtr, LeaseRequest request) override {
    for (const std::string place : {"first", "second"}) {
      const auto names = [&](const auto& nodes) { return std::ranges::find(nodes, NodeRef(place)) != nodes.end(); };
      if (names(request.nodes.avoid) || names(request.nodes.ended)) continue;
      asked.push_back(place);
      co_return Lease(std::make_shared<Node>(*this, place), [] {});
    }
    co_return fail(errc::backend_unreachable, "there is no third one");
  }
  void count(RequestEnd) override {}

  std::vector<std::string> asked;
  bool begins = true;         // the first one; else it says why not
  bool second_begins = true;  // the same of the second one
  bool second_goes = false;   // while it works
  std::string first_text;     // before it goes

 private:
  class TextBody final : public http::BodySource {
   public:
    explicit TextBody(std::string text) : text_(std::move(text)) {}
    async::Task<Result<std::string_view>> read() override {
      if (text_.empty()) co_return fail(errc::backend_unreachable, "gone");
      sent_ = std::exchange(text_, {});
      co_return sent_;
    }

   private:
    std::string text_, sent_;
  };
  class Node final : public Upstream, public http::Target {
   public:
    Node(Nodes& of, std::string place) : of_(of), place_(std::move(place)) {}
    http::Target& target(async::Executor) override { return *this; }
    std::uint64_t context() const override { return 0; }
    NodeRef node() const override { return NodeRef(place_); }
    async::Task<UpstreamExit> wait_for_exit() override { co_return UpstreamExit{.how = "its link ended"}; }
    void stream_began() override {}
    void stream_ended() override {}
    async::Task<Result<http::Response>> send(const http::RequestHead&, std::string_view) override {
      const bool first = place_ == "first";
      if (first ? !of_.begins : !of_.second_begins) {
        Error error(make_error_code(errc::not_begun), "no");
        error.facts = Error(make_error_code(errc::shutting_down), place_ + " has no room");
        co_return std::unexpected(std::move(error));
      }
      if (!first && of_.second_goes) co_return fail(errc::backend_unreachable, "gone");
      if (!first)
        co_return http::Response::event_stream(std::make_unique<TextBody>("data: second\n\ndata: [DONE]\n\n"));
      if (of_.first_text.empty()) co_return fail(errc::backend_unreachable, "gone");
      co_return http::Response::event_stream(std::make_unique<TextBody>(of_.first_text));
    }
    async::Task<Result<http::Response>> upload(const http::RequestHead& head, http::BodySource&) override {
      co_return co_await send(head, {});
    }

   private:
    Nodes& of_;
    const std::string place_;
  };
  const async::Executor executor_;
};

class NodesTest : public RouterTest {
 protected:
  std::string ask(bool stream = true) {
    ForwardRequest asked{model("a"), protocol::Ask::completion, "{}", stream, RequestId("far"), {}};
    auto response = run(answered(forwarder_.forward(std::move(asked))));
    EXPECT_TRUE(response.done());
    return response.get().body.streaming() ? reader(response).text() : response.get().body.text();
  }
  Nodes nodes{loop.executor()};

 private:
  Forwarder forwarder_{nodes, timers};
};

TEST_F(NodesTest, WhoHasntBegunIsPassedBy) {
  nodes.begins = false;
  EXPECT_EQ(ask(), "data: second\n\ndata: [DONE]\n\n");
  nodes.second_begins = false;
  EXPECT_THAT(ask(), HasSubstr("second has no room"));
  EXPECT_THAT(ask(false), HasSubstr("second has no room"));
  EXPECT_THAT(nodes.asked, ElementsAre("first", "second", "first", "second", "first", "second"));
}

TEST_F(NodesTest, WhoGoesIsReplacedByAnother) {
  EXPECT_EQ(ask(), "data: second\n\ndata: [DONE]\n\n");
  // Both have had it then.
  nodes.second_begins = false;
  EXPECT_THAT(ask(false), HasSubstr("second has no room"));
}

// The refusal of the one that was passed by hid why there was nobody behind the one that died.
TEST_F(NodesTest, WhatWasPassedByDoesNotExplainALaterFailure) {
  nodes.begins = false;
  nodes.second_goes = true;
  for (const bool stream : {false, true}) {
    const auto text = ask(stream);
    EXPECT_THAT(text, HasSubstr("there is no third one"));
    EXPECT_THAT(text, testing::Not(HasSubstr("first has no room")));
  }
}

TEST_F(NodesTest, PingsAreNoBytesOfTheAnswer) {
  nodes.first_text = ": ping\n\n";
  EXPECT_EQ(ask(), ": ping\n\ndata: second\n\ndata: [DONE]\n\n");
  nodes.first_text = "data: first\n\n";
  const auto text = ask();
  EXPECT_THAT(text, testing::StartsWith("data: first\n\ndata: {\"error\""));
  EXPECT_THAT(text, testing::Not(HasSubstr("second")));
}

}  // namespace
}  // namespace corral::router
