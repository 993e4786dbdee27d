// Requests to external programs that stop in the middle, are given up, and are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/errors.h"
#include "backends/external/external_backend_fixture_for_tests.h"

namespace corral::backends {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

using Pieces = async::Channel<std::string>;

class FedAnswer final : public http::BodySource {
 public:
  explicit FedAnswer(std::shared_ptr<Pieces> pieces) : pieces_(std::move(pieces)) {}
  async::Task<Result<std::string_view>> read() override {
    auto piece = co_await pieces_->receive();
    text_ = piece.value_or("");
    co_return std::string_view(text_);
  }

 private:
  const std::shared_ptr<Pieces> pieces_;
  std::string text_;
};

// A server that answers as a test feeds it.
class Feeding final : public http::Handler {
 public:
  explicit Feeding(async::Executor executor) : pieces(std::make_shared<Pieces>(executor)), never_(executor) {}

  bool answers = true;
  bool mute = false;  // to the query whether it is ready
  unsigned status = 200;
  std::string type = "text/event-stream";
  const std::shared_ptr<Pieces> pieces;
  int asked = 0;

  async::Task<http::Response> handle(http::Request request) override {
    if (request.head.method == "GET" && mute) co_await never_.wait();
    if (request.head.method == "GET") co_return http::Response::json(200, "{}");
    ++asked;
    (void)co_await request.body.read_all(1 << 20);
    if (!answers) co_await never_.wait();
    http::Response response{{status, {}}, http::Body(std::make_unique<FedAnswer>(pieces))};
    response.head.headers.add("Content-Type", type);
    co_return response;
  }

 private:
  async::Event never_;
};

class ExternalLimitsTest : public ExternalBackendFixture {
 protected:
  using Answer = std::shared_ptr<std::optional<Result<http::Response>>>;

  void start(const std::string& more = "request_timeout = \"20s\"\n") {
    handler_ = &feeding_;
    make(std::string(kOnSocket) + more);
    serve();
    load();
    for (int i = 0; i < 8 && !loaded_; ++i) pass(Millis(300));
    ASSERT_TRUE(loaded_ && *loaded_);
  }
  // A request that runs; its answer comes later.
  Answer begin(std::string path = "/v1/chat/completions", std::string body = "{}") {
    auto answer = std::make_shared<std::optional<Result<http::Response>>>();
    auto ask = [](http::Target& target, http::RequestHead head, std::string text, Answer into) -> async::Task<void> {
      into->emplace(co_await target.send(head, text));
    };
    wait_for(ask(server_->target(loop().executor()), {"POST", std::move(path), {}}, std::move(body), answer));
    return answer;
  }
  // Reads a piece; nothing: it hasn't come yet.
  std::shared_ptr<std::optional<Result<std::string>>> read(http::Response& answer) {
    auto piece = std::make_shared<std::optional<Result<std::string>>>();
    auto reading = [](http::BodySource& source, auto into) -> async::Task<void> {
      const auto next = co_await source.read();
      if (next) {
        into->emplace(std::string(*next));
      } else {
        into->emplace(std::unexpected(next.error()));
      }
    };
    wait_for(reading(*answer.body.source(), piece));
    return piece;
  }
  void feed(std::string piece) {
    feeding_.pieces->send(std::move(piece));
    settle();
  }

  Feeding feeding_{loop().executor()};
};

TEST_F(ExternalLimitsTest, ARequestThatGetsNoByteEndsAtItsLimitAndLetsTheNextOneIn) {
  start("request_timeout = \"20s\"\nconcurrency = 1\n");
  feeding_.answers = false;
  const auto first = begin(), second = begin();
  pass(seconds(19));
  EXPECT_FALSE(*first);
  EXPECT_EQ(feeding_.asked, 1);
  pass(seconds(1));
  ASSERT_TRUE(*first);
  ASSERT_FALSE(**first);
  EXPECT_EQ((*first)->error().code, external::errc::stalled);
  EXPECT_EQ((*first)->error().message,
            "the backend of 'm' made no progress with this request for 20 s: if it needs longer, set request_timeout "
            "in its descriptor or in models.toml");
  EXPECT_EQ(kind_of((*first)->error().code), ErrorKind::timeout);
  EXPECT_EQ(feeding_.asked, 2);
  pass(seconds(19));
  EXPECT_FALSE(*second) << "its time counts from its turn on";
  pass(seconds(1));
  ASSERT_TRUE(*second);
  EXPECT_EQ((*second)->error().code, external::errc::stalled);
  EXPECT_EQ(spawner_.running(), 1u) << "the program itself goes on";
}

TEST_F(ExternalLimitsTest, AnAnswerThatStopsInTheMiddleEndsAndOneThatIsSlowDoesNot) {
  start();
  const auto answer = begin();
  ASSERT_TRUE(*answer && **answer);
  auto& response = ***answer;
  for (int i = 0; i < 4; ++i) {
    const auto piece = read(response);
    pass(seconds(15));
    EXPECT_FALSE(*piece);
    feed("data: {}\n\n");
    ASSERT_TRUE(*piece && **piece);
    EXPECT_EQ(***piece, "data: {}\n\n");
  }
  pass(std::chrono::hours(1));  // its client doesn't read
  feed("data: {}\n\n");
  EXPECT_TRUE(**read(response));
  const auto last = read(response);
  pass(seconds(20));
  ASSERT_TRUE(*last);
  ASSERT_FALSE(**last);
  EXPECT_EQ((*last)->error().code, external::errc::stalled);
}

// Python's servers end the lines of their events with "\r\n".
TEST_F(ExternalLimitsTest, EachEventPassesAtOnceHoweverItsLinesEnd) {
  start();
  const auto answer = begin();
  ASSERT_TRUE(*answer && **answer);
  auto& response = ***answer;
  EXPECT_EQ(response.body.source()->length(), std::nullopt);
  const auto passes = [&](std::string piece, std::string_view text) {
    const auto next = read(response);
    feed(std::move(piece));
    ASSERT_TRUE(*next && **next);
    EXPECT_EQ(***next, text);
  };
  passes("data: one\r\n\r\n", "data: one\n\n");
  passes("data: two\r\n\r", "data: two\n\n");
  const auto next = read(response);
  feed("\n");
  EXPECT_FALSE(*next) << "nothing is no end";
  feed("data: three\r\r");
  ASSERT_TRUE(*next && **next);
  EXPECT_EQ(***next, "data: three\n\n");
}

TEST_F(ExternalLimitsTest, OtherAnswersPassAsTheyAre) {
  start();
  feeding_.type = "application/json";
  const auto answer = begin();
  ASSERT_TRUE(*answer && **answer);
  const auto piece = read(***answer);
  feed("{\r\n}\r");
  EXPECT_EQ(***piece, "{\r\n}\r");
}

// What plays the program here goes on when its process is killed, as a container does.
TEST_F(ExternalLimitsTest, RequestsEndWhenTheirProgramIsGivenUp) {
  start("concurrency = 2\n");
  const auto streaming = begin();
  ASSERT_TRUE(*streaming && **streaming);
  const auto piece = read(***streaming);
  feeding_.answers = false;
  const auto waiting = begin(), in_line = begin();
  stop(Millis(0));
  settle();
  ASSERT_TRUE(*piece);
  ASSERT_FALSE(**piece);
  EXPECT_EQ((*piece)->error().code, errc::backend_died);
  EXPECT_EQ((*piece)->error().message, "the backend of 'm' ended or was given up");
  for (const auto& answer : {waiting, in_line, begin()}) {
    ASSERT_TRUE(*answer);
    ASSERT_FALSE(**answer);
    EXPECT_EQ((*answer)->error().code, errc::backend_died);
  }
  EXPECT_EQ(feeding_.asked, 2);
}

TEST_F(ExternalLimitsTest, RequestsEndWhenTheirProgramEndsByItself) {
  start("concurrency = 2\n");
  auto end = [](WrappedServer& server) -> async::Task<void> {
    EXPECT_EQ(co_await server.wait_for_exit(), "exited with code 1");
  };
  wait_for(end(*server_));
  const auto streaming = begin();
  ASSERT_TRUE(*streaming && **streaming);
  const auto piece = read(***streaming);
  feeding_.answers = false;
  const auto waiting = begin(), in_line = begin();
  process().exit(1);
  settle();
  ASSERT_TRUE(*piece);
  ASSERT_FALSE(**piece);
  EXPECT_EQ((*piece)->error().code, errc::backend_died);
  for (const auto& answer : {waiting, in_line}) {
    ASSERT_TRUE(*answer);
    ASSERT_FALSE(**answer);
    EXPECT_EQ((*answer)->error().code, errc::backend_died);
  }
}

TEST_F(ExternalLimitsTest, AProgramThatTakesTheQueryAndIsSilentIsNamedSo) {
  handler_ = &feeding_;
  feeding_.mute = true;
  make(kOnSocket);
  serve();
  load();
  for (int i = 0; i < 40 && !loaded_; ++i) pass(seconds(1));
  ASSERT_TRUE(loaded_);
  EXPECT_EQ(loaded_->error().message,
            "the backend 'mine' of 'm' was not ready on its socket within 30 s: GET /ready got no response");
}

TEST_F(ExternalLimitsTest, AProgramForOneRequestIsKilledAtItsLimit) {
  make(std::string(kSpeaks) + "request_timeout = \"20s\"\n");
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  const auto silent = begin("/v1/audio/speech", R"({"input":"hello"})");
  pass(seconds(19));
  EXPECT_EQ(spawner_.running(), 1u);
  pass(seconds(1));
  ASSERT_TRUE(*silent);
  EXPECT_EQ((*silent)->error().code, external::errc::stalled);
  EXPECT_EQ(spawner_.running(), 0u);

  const auto begun = begin("/v1/audio/speech", R"({"input":"hello"})");
  process(1).write("RIFF");
  settle();
  ASSERT_TRUE(*begun && **begun);
  EXPECT_EQ(***read(***begun), "RIFF");
  const auto last = read(***begun);
  pass(seconds(20));
  ASSERT_TRUE(*last);
  EXPECT_EQ((*last)->error().code, external::errc::stalled);
  EXPECT_EQ(spawner_.running(), 0u);

  const auto given_up = begin("/v1/audio/speech", R"({"input":"hello"})");
  stop(Millis(0));
  settle();
  ASSERT_TRUE(*given_up);
  EXPECT_EQ((*given_up)->error().code, errc::backend_died);
  EXPECT_EQ(spawner_.running(), 0u);
}

TEST_F(ExternalLimitsTest, RequestsAreCountedWithTheTokensThatTheyTell) {
  start();
  feeding_.type = "application/json";
  const auto whole = begin();
  feed(R"({"choices":[{"message":{"content":"\"usage\":{\"prompt_tokens\":99}"}}],"usage":{"prompt_tokens":7,)");
  feed(R"("completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}})");
  feed("");
  ASSERT_TRUE(*whole && **whole);
  while (!(**read(***whole))->empty()) {
  }
  settle();
  ASSERT_THAT(done_, SizeIs(1));
  EXPECT_EQ(done_[0].input_tokens, 7u);
  EXPECT_EQ(done_[0].output_tokens, 3u);
  EXPECT_EQ(done_[0].cached_tokens, 2u);
  EXPECT_EQ(done_[0].time_to_first_token, 0) << "unknown";
  EXPECT_EQ(done_[0].tokens_per_second, 0);
}

TEST_F(ExternalLimitsTest, AStreamIsTimedByItsTexts) {
  start();
  const std::string call = R"(data: {"delta":{"tool_calls":[{"function":{"arguments": "{"}}]}})";
  const auto answer = begin();
  const auto feed_piece = [&](const std::string& piece) {
    const auto next = read(***answer);
    feed(piece);
    ASSERT_TRUE(*next && **next);
  };
  pass(seconds(2));
  feed_piece(call + "\r\n\r\n");
  pass(seconds(4));
  feed_piece(call + "\n\n");
  feed_piece("data: {\"usage\": {\"input_tokens\": 6, \"output_tokens\": 9}}\n\n");
  EXPECT_THAT(done_, IsEmpty());
  pass(seconds(1));
  feed_piece("data: [DONE]\n\n");
  ASSERT_THAT(done_, SizeIs(1));
  EXPECT_EQ(done_[0].input_tokens, 6u);
  EXPECT_EQ(done_[0].output_tokens, 9u);
  EXPECT_EQ(done_[0].time_to_first_token, 2);
  EXPECT_EQ(done_[0].tokens_per_second, 2);
  const auto end = read(***answer);
  feed("");
  settle();
  EXPECT_TRUE(*end);
  EXPECT_THAT(done_, SizeIs(1)) << "once";
}

TEST_F(ExternalLimitsTest, TheSpeedThatAnAnswerTellsCounts) {
  start();
  const auto per_second_of = [&](const std::string& last) {
    done_.clear();
    const auto answer = begin();
    const auto all = read(***answer);
    feed("data: {\"content\":\"a\"}\n\ndata: " + last + "\n\ndata: [DONE]\n\n");
    EXPECT_TRUE(*all && **all);
    return done_.empty() ? -1 : done_[0].tokens_per_second;
  };
  EXPECT_EQ(per_second_of(R"({"timings":{"prompt_n":1,"predicted_n":2,"predicted_per_second":12.5}})"), 12.5);
  EXPECT_EQ(per_second_of(R"({"content":"b"})"), 0) << "texts that arrive together have no speed";
}

TEST_F(ExternalLimitsTest, AStreamIsCountedAlsoWithoutNumbersAndWhenItsClientLeaves) {
  start();
  const auto text = [](const char* content) {
    return fmt::format("data: {{\"delta\":{{\"content\": \"{}\"}}}}\n\n", content);
  };
  auto left = begin();
  feed(text("") + text("one") + text("two"));
  EXPECT_FALSE((**read(***left))->empty());
  EXPECT_THAT(done_, IsEmpty());
  left->reset();
  settle();
  ASSERT_THAT(done_, SizeIs(1));
  EXPECT_EQ(done_[0].output_tokens, 2u);

  left = begin();
  feed(text("one"));
  EXPECT_FALSE((**read(***left))->empty());
  const auto waiting = read(***left);
  (***left).body.source()->abort();
  settle();
  ASSERT_TRUE(*waiting);
  EXPECT_FALSE(**waiting);
  ASSERT_THAT(done_, SizeIs(2));
  EXPECT_EQ(done_[1].output_tokens, 1u);

  left = begin();
  feed(text("one"));
  EXPECT_FALSE((**read(***left))->empty());
  {
    async::TaskGroup reader(loop().executor());
    auto reading = [](http::BodySource& source) -> async::Task<void> { (void)co_await source.read(); };
    reader.spawn("a client that leaves", reading(*(***left).body.source()));
    settle();
  }
  settle();
  ASSERT_THAT(done_, SizeIs(3));
}

TEST_F(ExternalLimitsTest, ARefusalIsNotCounted) {
  start();
  feeding_.status = 400;
  feeding_.type = "application/json";
  const auto refused = begin();
  feed(R"({"error":{},"usage":{"prompt_tokens":7}})");
  feed("");
  ASSERT_TRUE(*refused && **refused);
  settle();
  EXPECT_THAT(done_, IsEmpty());
}

// A program that dies in its answers has answered nothing, so that its crashes are counted.
TEST_F(ExternalLimitsTest, AnAnswerThatBreaksOffIsNotCounted) {
  start();
  auto broken = begin();
  feed("data: {\"delta\":{\"content\":\"one\"}}\n\n");
  EXPECT_TRUE(**read(***broken));
  const auto last = read(***broken);
  wait_for(played_server_->stop(Millis(0)));
  settle();
  ASSERT_TRUE(*last);
  EXPECT_FALSE(**last);
  broken->reset();
  settle();
  EXPECT_THAT(done_, IsEmpty());
}

// A program that would go on with a request whose client has left.
class ExternalRestartTest : public ExternalLimitsTest {
 protected:
  ~ExternalRestartTest() override {
    if (second_) wait_for(second_->stop(Millis(0)));
  }
  // Later processes get a server of their own.
  void start_with_restarts() {
    start("cancel = \"restart\"\nconcurrency = 1\n");
    spawner_.script = [this](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      second_.emplace(pool_, feeding_, http::ServerOptions());
      const auto& argv = process->spec().argv;
      (void)second_->listen_unix(*(std::ranges::find(argv, "--socket") + 1));
      co_return;
    };
    feeding_.answers = false;
  }
  // A request whose client leaves when `leaving_` ends its task.
  void begin_and_leave() {
    auto ask = [](http::Target& target) -> async::Task<void> {
      const http::RequestHead head{"POST", "/v1/chat/completions", {}};
      (void)co_await target.send(head, "{}");
    };
    leaving_.spawn("leaving", ask(server_->target(loop().executor())));
    settle();
    ASSERT_EQ(feeding_.asked, 1);
    feeding_.answers = true;
    leaving_.cancel();
    settle();
  }
  // The description of its end.
  std::shared_ptr<std::optional<std::string>> await_exit() {
    auto end = std::make_shared<std::optional<std::string>>();
    auto wait = [](WrappedServer& server, auto into) -> async::Task<void> {
      into->emplace(co_await server.wait_for_exit());
    };
    wait_for(wait(*server_, end));
    return end;
  }

  async::TaskGroup leaving_{loop().executor()};
  std::optional<http::Server> second_;
};

TEST_F(ExternalRestartTest, ARequestWhoseClientLeftEndsWithItsProcessAndOthersGetTheNextOne) {
  start_with_restarts();
  const auto ended = await_exit();
  begin_and_leave();
  EXPECT_FALSE(process(0).alive());
  const auto waiting = begin();
  EXPECT_EQ(feeding_.asked, 1) << "the new process isn't ready";
  for (int i = 0; i < 8; ++i) pass(Millis(300));
  ASSERT_EQ(spawner_.processes().size(), 2u);
  EXPECT_TRUE(process(1).alive());
  EXPECT_EQ(process(0).spec().argv, process(1).spec().argv) << "at the same address";
  ASSERT_TRUE(*waiting && **waiting);
  EXPECT_EQ((**waiting)->head.status, 200u);
  EXPECT_FALSE(*ended) << "the server is still the same";
  process(1).die(SIGSEGV);
  settle();
  EXPECT_TRUE(*ended);
}

TEST_F(ExternalRestartTest, AStopEndsARestart) {
  start_with_restarts();
  const auto ended = await_exit();
  begin_and_leave();
  stop(Millis(0));
  EXPECT_TRUE(*ended);
  EXPECT_EQ(spawner_.running(), 0u);
}

TEST_F(ExternalRestartTest, ARestartThatFailsIsTheEndOfTheServer) {
  start_with_restarts();
  const auto ended = await_exit();
  spawner_.next_failure = Error(make_error_code(proc::errc::spawn_failed), "no more processes");
  begin_and_leave();
  EXPECT_TRUE(*ended);
  EXPECT_EQ(spawner_.processes().size(), 1u);
}

TEST_F(ExternalRestartTest, AnAnsweredRequestRestartsNothing) {
  start_with_restarts();
  feeding_.answers = true;
  ASSERT_TRUE(*begin());
  settle();
  EXPECT_EQ(spawner_.processes().size(), 1u);
  EXPECT_TRUE(process(0).alive());
}

}  // namespace
}  // namespace corral::backends
