// What happens while an answer is under way: silence, leaving clients, failures, many at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "engine/session/stream_state.h"
#include "engine_server/answer_stream.h"
#include "engine_server/signal.h"
#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

using test::Fixture;

http::Request endless_request(bool stream) {
  http::Request request;
  request.head.method = "POST";
  request.head.target = "/v1/chat/completions";
  request.body = http::Body(std::string(R"({"messages":[{"role":"user","content":"hi"}],"temperature":0,"stream":)") +
                            (stream ? "true}" : "false}"));
  return request;
}

// Waits, by turns of the loop, until the engine generates `count` answers.
async::Task<void> until_generating(engine::InferenceEngine& service, std::uint32_t count) {
  const auto executor = co_await async::asio::this_coro::executor;
  while (service.stats().total().generating != count) co_await async::asio::post(executor, async::use_task);
}

// They ended with a Markdown fence that the whole answers don't have.
TEST(Stream, StructuredAnswersEqualWholeOnes) {
  Fixture server("tiny-llama");
  const auto fence = R"(,"logit_bias":[["`",30]],"temperature":1,"max_tokens":60)";
  const auto schema =
      R"(,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":false}}})";
  int fenced = 0;
  for (int seed = 1; seed <= 8; ++seed) {
    const auto more = std::string(fence) + schema + R"(,"seed":)" + std::to_string(seed);
    const auto whole = server.chat("Is it so?", more + R"(,"logprobs":true)");
    ASSERT_EQ(whole.status, 200u) << whole.body;
    const auto text = std::string(whole.choice().at("message").at("content").as_string());
    EXPECT_EQ(server.chat("Is it so?", more + R"(,"stream":true)").streamed(), text) << seed;
    const auto tokens = json::serialize(whole.choice().at("logprobs"));
    if (tokens.contains('`')) ++fenced;
  }
  EXPECT_GT(fenced, 0) << "else this test is of no use";
}

TEST(Stream, DroppingTheSourceCancels) {
  Fixture server("scripted-endless", 8192);
  const auto use = [&]() -> async::Task<void> {
    auto response = co_await server.server->handle(endless_request(true));
    auto* source = response.body.source();
    const auto piece = co_await source->read();
    EXPECT_TRUE(piece && !piece->empty());
    co_await until_generating(*server.service, 1);
    response.body = http::Body();
    co_await until_generating(*server.service, 0);
  };
  async::run_blocking(server.loop, use());
  EXPECT_EQ(server.service->stats().total().sessions, 0u);
}

TEST(Stream, LeavingWithoutStreamCancelsToo) {
  Fixture server("scripted-endless", 8192);
  const auto ask = [&]() -> async::Task<void> { co_await server.server->handle(endless_request(false)); };
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    async::TaskGroup clients(executor);
    clients.spawn("client", ask());
    co_await until_generating(*server.service, 1);
    clients.cancel();
    co_await clients.join();
    co_await until_generating(*server.service, 0);
  };
  async::run_blocking(server.loop, use());
}

// Waits, by turns of the loop, until the engine has made so many tokens.
async::Task<void> until_predicted(engine::InferenceEngine& service, std::uint64_t count) {
  const auto executor = co_await async::asio::this_coro::executor;
  while (service.stats().total().predicted_tokens < count) co_await async::asio::post(executor, async::use_task);
}

// They counted nothing, although the model had worked on them.
TEST(Stream, RequestsWhoseClientLeavesAreCounted) {
  for (const bool stream : {true, false}) {
    Fixture server("scripted-endless", 8192);
    std::uint64_t tokens = 5;
    const auto ask = [&]() -> async::Task<void> {
      auto response = co_await server.server->handle(endless_request(stream));
      auto* source = response.body.source();
      while (source) (void)co_await source->read();
    };
    const auto use = [&]() -> async::Task<void> {
      const auto executor = co_await async::asio::this_coro::executor;
      async::TaskGroup clients(executor);
      clients.spawn("client", ask());
      const auto before = server.service->stats().total().predicted_tokens;
      co_await until_predicted(*server.service, before + tokens);
      clients.cancel();
      co_await clients.join();
      co_await until_generating(*server.service, 0);
    };
    // The engine may be so fast that the handler hasn't heard of the generation yet. Then another client leaves later.
    for (; server.records.empty(); tokens *= 2) async::run_blocking(server.loop, use());
    ASSERT_EQ(server.records.size(), 1u) << stream;
    const auto& record = server.records.front();
    EXPECT_GE(record.output_tokens, 5u) << stream;
    EXPECT_LE(record.output_tokens, server.service->stats().total().predicted_tokens) << stream;
    EXPECT_GT(record.input_tokens, 0u) << stream;
    EXPECT_GT(record.first_token_ms, 0) << stream;
  }
}

TEST(Stream, FailuresAfterTheStartAreOneEventWithoutDone) {
  Fixture server("scripted-endless", 8192);
  std::string rest;
  const auto use = [&]() -> async::Task<void> {
    auto response = co_await server.server->handle(endless_request(true));
    auto* source = response.body.source();
    auto piece = co_await source->read();
    // Ends every generation as a worker that goes away would: the stream hears it from the engine.
    const auto ended = server.service->end_session(engine::SessionId(1));
    EXPECT_TRUE(ended);
    while (piece && !piece->empty()) {
      rest = *piece;
      piece = co_await source->read();
    }
  };
  async::run_blocking(server.loop, use());
  test::Answer answer{200, "", rest};
  const auto events = answer.events();
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(events.back(), testing::HasSubstr(R"({"error":{"message":)"));
  EXPECT_THAT(rest, testing::Not(testing::HasSubstr("[DONE]")));
}

// A loop with time that moves by hand. What was cancelled unwinds before the clock goes.
struct HandDriven {
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  ~HandDriven() { loop.drain(); }
};

// A generation that is played by hand.
struct Played {
  std::shared_ptr<engine::StreamState> state =
      std::make_shared<engine::StreamState>(0, engine::StreamState::Owner{[] {}, [] {}});
  std::unique_ptr<AnswerStream> stream;

  Played(async::Executor executor, async::Timers& timers, RequestDone done = {},
         MonoClock::duration ping_after = std::chrono::seconds(1), bool each_timings = false) {
    StreamOptions options;
    options.return_progress = true;
    options.each_timings = each_timings;
    options.ping_after = ping_after;
    options.done = std::move(done);
    const protocol::AnswerHead head{.id = "x", .model = "m"};
    std::vector<Choice> choices;
    choices.push_back({.generation = Generation(engine::StreamHandle(state))});
    stream = std::make_unique<AnswerStream>(executor, timers, std::move(choices), head, std::move(options));
  }
  void emit(const std::string& text, std::optional<engine::Progress> progress = std::nullopt) const {
    engine::StreamChunk chunk;
    chunk.text = text;
    chunk.progress = progress;
    state->push(std::move(chunk));
  }
  void end(engine::FinishReason reason, std::optional<Error> error = std::nullopt) const {
    engine::Finish finish;
    finish.reason = reason;
    finish.error = std::move(error);
    state->finish(std::move(finish));
  }
};

TEST(Stream, PingsWhileNothingComes) {
  HandDriven time;
  auto& timers = time.timers;
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    Played played(executor, timers);
    auto& stream = *played.stream;
    const auto settle = [&]() -> async::Task<void> {
      do {
        co_await async::asio::post(executor, async::use_task);
      } while (timers.sleepers() == 0);
    };
    co_await settle();
    timers.advance(std::chrono::milliseconds(1000));
    auto piece = co_await stream.read();
    EXPECT_EQ(*piece, ": ping\n\n");
    co_await settle();
    timers.advance(std::chrono::milliseconds(500));
    played.emit("word");
    piece = co_await stream.read();
    EXPECT_THAT(std::string(*piece), testing::HasSubstr("word"));
    timers.advance(std::chrono::milliseconds(500));  // a second since the ping, half a one since the word
    co_await settle();
    EXPECT_EQ(stream.take_ready(), "");
    timers.advance(std::chrono::milliseconds(500));
    piece = co_await stream.read();
    EXPECT_EQ(*piece, ": ping\n\n");
    played.end(engine::FinishReason::length);
    piece = co_await stream.read();
    EXPECT_THAT(std::string(*piece), testing::HasSubstr("[DONE]"));
    piece = co_await stream.read();
    EXPECT_EQ(*piece, "");
  };
  async::run_blocking(time.loop, use());
}

TEST(Stream, WithoutPingsNothingBreaksTheSilence) {
  HandDriven time;
  auto& timers = time.timers;
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    Played played(executor, timers, {}, MonoClock::duration::zero());
    for (int turn = 0; turn < 5; ++turn) co_await async::asio::post(executor, async::use_task);
    EXPECT_EQ(timers.sleepers(), 0u);
    EXPECT_EQ(played.stream->take_ready(), "");
    played.end(engine::FinishReason::stop);
    const auto piece = co_await played.stream->read();
    EXPECT_THAT(std::string(*piece), testing::HasSubstr("[DONE]"));
  };
  async::run_blocking(time.loop, use());
}

// The clock goes on by a second whenever there is nothing to read.
TEST(Stream, RequestsSayWhetherThereArePings) {
  HandDriven time;
  const auto service = test::load("scripted-endless");
  async::ThreadPool pool{1};
  EngineServer server(*service, time.timers, pool, EngineServerOptions());
  const auto streamed_with = [&](const std::string& more) {
    std::string text;
    const auto use = [&]() -> async::Task<void> {
      const auto executor = co_await async::asio::this_coro::executor;
      http::Request request;
      request.head.method = "POST";
      request.head.target = "/v1/completions";
      request.body = http::Body(R"({"prompt":"hi","max_tokens":200,"ignore_eos":true,"stream":true)" + more + "}");
      auto response = co_await server.handle(std::move(request));
      EXPECT_EQ(response.head.status, 200u);
      auto* const source = response.body.source();
      while (source && !text.contains("[DONE]") && !text.contains("error")) {
        text += source->take_ready();
        time.timers.advance(std::chrono::seconds(1));
        for (int turn = 0; turn < 3; ++turn) co_await async::asio::post(executor, async::use_task);
      }
    };
    async::run_blocking(time.loop, use());
    EXPECT_THAT(text, testing::HasSubstr("[DONE]"));
    return text;
  };
  const auto pings = testing::HasSubstr(": ping\n\n");
  EXPECT_THAT(streamed_with(""), pings);
  EXPECT_THAT(streamed_with(R"(,"sse_ping_interval":null)"), pings);
  EXPECT_THAT(streamed_with(R"(,"sse_ping_interval":1)"), pings);
  EXPECT_THAT(streamed_with(R"(,"sse_ping_interval":1000000)"), testing::Not(pings));
  EXPECT_THAT(streamed_with(R"(,"sse_ping_interval":0)"), testing::Not(pings));
  EXPECT_THAT(streamed_with(R"(,"sse_ping_interval":-1)"), testing::Not(pings));
}

TEST(Stream, WhatIsThereTogetherGoesOutTogether) {
  HandDriven time;
  auto& timers = time.timers;
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    std::size_t records = 0;
    Played played(executor, timers, [&](const RequestRecord&) { ++records; });
    played.emit("a");
    played.emit("b");
    played.end(engine::FinishReason::stop);
    test::Answer answer{200, "", std::string(played.stream->take_ready())};
    EXPECT_EQ(answer.streamed(), "ab");
    EXPECT_EQ(answer.events().back(), "[DONE]");
    EXPECT_EQ(records, 1u);
    co_return;
  };
  async::run_blocking(time.loop, use());
}

TEST(Stream, OneThatIsDroppedCountsWhatHadCome) {
  HandDriven time;
  auto& timers = time.timers;
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    std::vector<RequestRecord> records;
    const auto done = [&](const RequestRecord& record) { records.push_back(record); };
    const engine::Progress first{.usage = {.prompt_tokens = 9, .cached_tokens = 4, .completion_tokens = 1},
                                 .timings = {}};
    const engine::Progress second{.usage = {.prompt_tokens = 9, .cached_tokens = 4, .completion_tokens = 3},
                                  .timings = {}};
    Played(executor, timers, done).stream.reset();
    EXPECT_TRUE(records.empty()) << "the model had made nothing";
    {
      Played played(executor, timers, done);
      played.emit("a", first);
      const std::string sent(played.stream->take_ready());
      EXPECT_THAT(sent, testing::Not(testing::HasSubstr("timings"))) << "the request wants none";
      played.emit("bc", second);
    }
    EXPECT_EQ(records.size(), 1u);
    EXPECT_EQ(records.back().output_tokens, 3u);
    EXPECT_EQ(records.back().input_tokens, 9u);
    EXPECT_EQ(records.back().cached_tokens, 4u);
    {
      Played played(executor, timers, done);
      played.emit("a", first);
      played.end(engine::FinishReason::error);
      (void)played.stream->take_ready();
    }
    EXPECT_EQ(records.size(), 2u) << "one that failed is counted once";
    co_return;
  };
  async::run_blocking(time.loop, use());
}

TEST(Stream, ProgressOfThePromptIsAnEventOfItsOwnInFrontOfTheText) {
  HandDriven time;
  auto& timers = time.timers;
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    Played played(executor, timers);
    engine::StreamChunk chunk;
    chunk.prompt = {{.total = 30, .cached = 10, .processed = 20, .ms = 7.9}};
    played.state->push(chunk);
    const std::string first(played.stream->take_ready());
    EXPECT_THAT(first, testing::HasSubstr(R"("prompt_progress":{"total":30,"cache":10,"processed":20,"time_ms":7}})"));
    // Unread, it is joined with what comes behind it, but for the first: that is the one of what was there already.
    for (const std::uint32_t processed : {21, 25, 30}) {
      chunk.prompt[0].processed = processed;
      played.state->push(chunk);
    }
    played.emit("a");
    const test::Answer second{200, "", std::string(played.stream->take_ready())};
    const auto events = second.events();
    EXPECT_EQ(events.size(), 3u);
    EXPECT_THAT(events.front(), testing::HasSubstr(R"("processed":21)"));
    EXPECT_THAT(events[1], testing::HasSubstr(R"("processed":30)"));
    EXPECT_THAT(events.back(), testing::HasSubstr(R"("text":"a")"));
    EXPECT_THAT(events.back(), testing::Not(testing::HasSubstr("prompt_progress")));
    played.end(engine::FinishReason::stop);
    co_return;
  };
  async::run_blocking(time.loop, use());
}

// They had none. The first one comes before anything is computed, so its time is none of the prompt's.
TEST(Stream, EventsOfProgressHaveTimingsIfAllShallHaveThem) {
  HandDriven time;
  auto& timers = time.timers;
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    Played played(executor, timers, {}, std::chrono::seconds(1), true);
    engine::StreamChunk chunk;
    chunk.prompt = {{.total = 30, .cached = 10, .processed = 10, .ms = 0.5},
                    {.total = 30, .cached = 10, .processed = 30, .ms = 4}};
    played.state->push(chunk);
    const test::Answer sent{200, "", std::string(played.stream->take_ready())};
    const auto events = sent.events();
    EXPECT_EQ(events.size(), 2u);
    EXPECT_THAT(events.front(), testing::HasSubstr(R"("processed":10,"time_ms":0},"timings":{"cache_n":10,)"
                                                   R"("prompt_n":0,"prompt_ms":0,)"));
    EXPECT_THAT(events.back(), testing::HasSubstr(R"("processed":30,"time_ms":4},"timings":{"cache_n":10,)"
                                                  R"("prompt_n":20,"prompt_ms":4,)"));
    played.end(engine::FinishReason::stop);
    co_return;
  };
  async::run_blocking(time.loop, use());
}

TEST(Stream, EveryBadEndIsToldOnce) {
  HandDriven time;
  auto& timers = time.timers;
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    for (const auto reason :
         {engine::FinishReason::cancelled, engine::FinishReason::shutdown, engine::FinishReason::error,
          engine::FinishReason::superseded, engine::FinishReason::session_ended}) {
      Played played(executor, timers);
      played.emit("a");
      played.end(reason);
      auto piece = co_await played.stream->read();
      const std::string text(*piece);
      EXPECT_THAT(text, testing::HasSubstr("{\"error\":{\"message\":")) << to_string(reason);
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("[DONE]")));
      piece = co_await played.stream->read();
      EXPECT_EQ(*piece, "");
    }
  };
  async::run_blocking(time.loop, use());
}

TEST(Stream, ManyAtOnceGiveWhatEachGivesAlone) {
  Fixture server("tiny-qwen3");
  const std::string prompts[] = {"one", "two and more", "three", "Größe", "five five five", "six"};
  std::vector<std::string> alone, together(std::size(prompts));
  for (const auto& prompt : prompts) {
    alone.emplace_back(server.chat(prompt, R"(,"max_tokens":24)").choice().at("message").at("content").as_string());
  }
  const auto ask = [&](std::size_t index) -> async::Task<void> {
    http::Request request;
    request.head.method = "POST";
    request.head.target = "/v1/chat/completions";
    request.body = http::Body(R"({"messages":[{"role":"user","content":")" + prompts[index] +
                              R"("}],"temperature":0,"max_tokens":24,"stream":true})");
    auto pending = server.server->handle(std::move(request));
    const auto answer = co_await Fixture::whole(std::move(pending));
    together[index] = answer.streamed();
  };
  const auto use = [&]() -> async::Task<void> {
    const auto executor = co_await async::asio::this_coro::executor;
    async::TaskGroup clients(executor);
    for (std::size_t i = 0; i < std::size(prompts); ++i) clients.spawn("client", ask(i));
    co_await clients.join();
  };
  async::run_blocking(server.loop, use());
  EXPECT_EQ(together, alone);
}

}  // namespace
}  // namespace corral::engine_server
