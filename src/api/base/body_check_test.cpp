// Large bodies are looked through beside the loop.
#include "api/base/body_check.h"

#include <future>

#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

class BodyCheckTest : public ApiTest {
 protected:
  // The thread of large bodies does nothing else until the end of this.
  class Busy {
   public:
    explicit Busy(async::ThreadPool& threads) {
      threads.post([go_on = go_on_.get_future().share()] { go_on.wait(); });
    }
    void end() { go_on_.set_value(); }

   private:
    std::promise<void> go_on_;
  };

  static std::string large_chat(std::string_view more = {}) {
    return R"({"model":"tiny-llama","messages":[{"role":"user","content":")" + std::string(kSmallBody, 'x') + R"("}])" +
           std::string(more) + "}";
  }
  static constexpr std::string_view kSmallChat =
      R"({"model":"tiny-llama","messages":[{"role":"user","content":"hello"}]})";
};

TEST_F(BodyCheckTest, OthersAreServedWhileALargeBodyIsLookedThrough) {
  Busy busy(body_threads);
  auto large = send("POST", "/v1/chat/completions", large_chat(R"(,"temperature":"hot")"));
  EXPECT_FALSE(got(*large));
  expect_untouched();
  EXPECT_EQ(get("/v1/live").status, 200u);
  have("tiny-llama");
  auto small = send("POST", "/v1/chat/completions", std::string(kSmallChat));
  backend.server("tiny-llama").request().answer(200, "{}");
  settle();
  EXPECT_EQ(got(*small)->status, 200u);

  EXPECT_FALSE(got(*large));
  busy.end();
  const auto refused = finish(*large);
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(refused.error("param"), "temperature");
}

TEST_F(BodyCheckTest, WhatIsFineGoesOnToItsModel) {
  have("tiny-llama");
  backend.reply = backends::FakeBackend::echo;
  const auto body = large_chat();
  const auto answer = post("/v1/chat/completions", body);
  EXPECT_EQ(answer.status, 200u);
  EXPECT_THAT(answer.text, HasSubstr(body));
}

TEST_F(BodyCheckTest, WhoLeavesMeanwhileAsksForNothing) {
  Busy busy(body_threads);
  auto large = send("POST", "/v1/chat/completions", large_chat());
  large.reset();
  busy.end();
  // Behind it in the queue of the thread.
  EXPECT_EQ(post("/v1/chat/completions", large_chat(R"(,"temperature":"hot")")).status, 400u);
  expect_untouched();
}

TEST_F(BodyCheckTest, CommandsTakeSmallBodiesOnly) {
  const std::string padding(kSmallBody, ' ');
  for (const auto* path :
       {"/v1/load", "/v1/unload", "/v1/estimate", "/internal/pin", "/v1/models/tiny-llama/options"}) {
    const auto answer = post(path, R"({"model_name":"tiny-llama"})" + padding);
    EXPECT_EQ(answer.status, 413u) << path;
    EXPECT_THAT(answer.error("message"), HasSubstr("65536")) << path;
  }
  expect_untouched();
}

}  // namespace
}  // namespace corral::api
