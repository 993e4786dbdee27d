// Estimates of memory over played children: asked once, kept, given up, late.
#include "backends/memory_predictor.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "backends/engine_leftovers.h"
#include "backends/engine_protocol.h"
#include "base/log.h"
#include "models/temp_dir_for_tests.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::backends {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class MemoryPredictorTest : public testing::Test {
 protected:
  MemoryPredictorTest() {
    log::set_level(log::Level::none);
    std::ofstream(dir_ / "a-1.gguf") << "GGUF";
    std::ofstream(dir_ / "a-2.gguf") << "GGUF";
    model_.name = ModelName("a");
    model_.paths = {dir_ / "a-1.gguf", dir_ / "a-2.gguf"};
    start();
  }
  ~MemoryPredictorTest() override {
    group_.cancel();
    settle();
    stop();
    EXPECT_EQ(spawner_.running(), 0u);
    EXPECT_EQ(timers_.sleepers(), 0u);
  }

  void start(std::string version = "1") {
    predictor_.emplace(loop_.executor(), timers_, spawner_, files_,
                       MemoryPredictorOptions{.program = "/usr/bin/corral",
                                              .cache_file = dir_ / "state" / "estimates.json",
                                              .engine_version = std::move(version),
                                              .deadline = Millis(1000)});
  }
  void stop() {
    group_.spawn("stop", predictor_->stop());
    settle();
  }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      loop_.context().restart();
      loop_.context().poll();
    }
  }

  using Answer = std::shared_ptr<std::optional<Result<MemoryEstimate>>>;
  Answer ask(LoadOptions options = {}) { return ask(std::move(options), group_); }
  Answer ask(LoadOptions options, async::TaskGroup& group) {
    auto answer = std::make_shared<std::optional<Result<MemoryEstimate>>>();
    group.spawn("ask", keep(answer, std::make_shared<const models::ModelInfo>(model_), std::move(options)));
    settle();
    return answer;
  }
  async::Task<void> keep(Answer answer, ModelPtr model, LoadOptions options) {
    answer->emplace(co_await predictor_->predict(std::move(model), std::move(options)));
  }
  void look(std::vector<std::filesystem::path> paths) {
    auto looking = [](Files& files, std::vector<std::filesystem::path> at) -> async::Task<void> {
      EXPECT_TRUE(co_await files.look(std::move(at)));
    };
    group_.spawn("look", looking(files_, std::move(paths)));
    settle();
  }
  proc::FakeProcess& process(std::size_t number) { return *spawner_.processes().at(number); }
  void reply(std::size_t number, std::string line) {
    auto write = [](proc::FakeProcess& to, std::string text) -> async::Task<void> {
      co_await to.control().write_line(std::move(text));
    };
    group_.spawn("say", write(process(number), std::move(line)));
    settle();
  }
  void reply(std::size_t number, const EngineEvent& event) { reply(number, to_line(event)); }
  static MemoryEstimate some(std::uint64_t kv) {
    MemoryEstimate estimate;
    estimate.devices = {{.device = "cpu", .kv = kv}};
    estimate.process = 7;
    return estimate;
  }

  const models::TempDir dir_;
  models::ModelInfo model_;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  proc::FakeSpawner spawner_{timers_};
  Files files_{loop_.executor(), timers_, {.offload = [](auto work) { work(); }}};
  std::optional<MemoryPredictor> predictor_;
  async::TaskGroup group_{loop_.executor()};
};

TEST_F(MemoryPredictorTest, AsksAChildOnceAndKeepsItsAnswer) {
  const auto first = ask();
  ASSERT_THAT(spawner_.processes(), SizeIs(1));
  EXPECT_EQ(process(0).spec().leftovers, engine_leftovers());
  EXPECT_FALSE(*first);
  EXPECT_FALSE(predictor_->known(model_, {}));
  reply(0, EngineEvent(some(5)));
  ASSERT_TRUE(*first && **first);
  EXPECT_EQ(***first, some(5));
  EXPECT_FALSE(process(0).alive());
  const auto second = ask();
  ASSERT_TRUE(*second && **second);
  EXPECT_EQ(***second, some(5));
  EXPECT_EQ(predictor_->known(model_, {}), some(5));
  EXPECT_THAT(spawner_.processes(), SizeIs(1));
}

TEST_F(MemoryPredictorTest, AnswersOutliveTheServerButNotTheirVersion) {
  ask();
  reply(0, EngineEvent(some(5)));
  stop();
  start();
  EXPECT_EQ(predictor_->known(model_, {}), some(5));
  stop();
  start("2");
  EXPECT_FALSE(predictor_->known(model_, {}));
}

TEST_F(MemoryPredictorTest, BrokenFileOfAnswersIsAnEmptyOne) {
  ask();
  reply(0, EngineEvent(some(5)));
  for (const char* text : {"", "{", "[]", R"({"version":1,"answers":[5,{}]})", R"({"version":99,"answers":[]})"}) {
    stop();
    std::ofstream(dir_ / "state" / "estimates.json") << text;
    start();
    EXPECT_FALSE(predictor_->known(model_, {})) << text;
  }
}

TEST_F(MemoryPredictorTest, EqualQuestionsShareOneChildAndOthersTakeTurns) {
  const auto first = ask(), second = ask();
  LoadOptions larger;
  larger.ctx_size = 65536;
  const auto third = ask(larger);
  EXPECT_THAT(spawner_.processes(), SizeIs(1));
  reply(0, EngineEvent(some(5)));
  EXPECT_TRUE(*first && *second);
  EXPECT_FALSE(*third);
  ASSERT_THAT(spawner_.processes(), SizeIs(2));
  reply(1, EngineEvent(some(6)));
  ASSERT_TRUE(*third && **third);
  EXPECT_EQ(***third, some(6));
}

TEST_F(MemoryPredictorTest, WhoGivesUpLeavesTheAnswerToTheOthers) {
  async::TaskGroup impatient(loop_.executor());
  const auto first = ask({}, impatient);
  const auto second = ask();
  impatient.cancel();
  settle();
  reply(0, EngineEvent(some(5)));
  EXPECT_FALSE(*first);
  EXPECT_TRUE(*second && **second);
}

TEST_F(MemoryPredictorTest, AnotherFileOrOptionIsAnotherQuestionAndThreadsAreNot) {
  ask();
  reply(0, EngineEvent(some(5)));
  LoadOptions options;
  options.threads = 3;
  EXPECT_TRUE(predictor_->known(model_, options));
  options.lora = {(dir_ / "a-1.gguf").native()};
  EXPECT_FALSE(predictor_->known(model_, options));
  options = {};
  options.gpu_layers = 0;
  EXPECT_FALSE(predictor_->known(model_, options));
  std::ofstream(dir_ / "a-2.gguf") << "other";
  look({dir_ / "a-2.gguf"});
  EXPECT_FALSE(predictor_->known(model_, {}));

  options = {};
  options.draft_model = (dir_ / "a-1.gguf").native();
  ask(options);
  reply(1, EngineEvent(some(6)));
  EXPECT_TRUE(predictor_->known(model_, options));
  std::ofstream(dir_ / "a-1.gguf") << "another draft";
  look({dir_ / "a-1.gguf"});
  EXPECT_FALSE(predictor_->known(model_, options));
}

TEST_F(MemoryPredictorTest, CausesOfTheChildComeThroughAndAreNotKept) {
  const auto first = ask();
  reply(0, EngineFailed{errc::invalid_option, "no such cache type", "cache_type_k"});
  ASSERT_TRUE(*first && !**first);
  EXPECT_EQ((*first)->error().code, errc::invalid_option);
  EXPECT_EQ((*first)->error().param, "cache_type_k");
  const auto second = ask();
  process(1).print("out of memory", true);
  process(1).die(SIGKILL);
  settle();
  ASSERT_TRUE(*second && !**second);
  EXPECT_EQ((*second)->error().code, errc::load_crashed);
  EXPECT_THAT((*second)->error().message, HasSubstr("out of memory"));
  const auto third = ask();
  reply(2, "{nonsense");
  ASSERT_TRUE(*third && !**third);
  EXPECT_EQ((*third)->error().code, errc::load_failed);
  EXPECT_THAT(spawner_.processes(), SizeIs(3));
}

TEST_F(MemoryPredictorTest, WhatTheFilesShowIsKeptWhileTheyStay) {
  const auto first = ask();
  process(0).die(SIGABRT);  // perhaps by a device
  settle();
  process(1).print("GGML_ASSERT(false) failed", true);
  process(1).die(SIGABRT);
  settle();
  for (const auto& answer : {first, ask()}) {
    ASSERT_TRUE(*answer && !**answer);
    EXPECT_EQ((*answer)->error().code, errc::file_unusable);
    EXPECT_THAT((*answer)->error().message, HasSubstr("GGML_ASSERT"));
  }
  EXPECT_THAT(spawner_.processes(), SizeIs(2));
  timers_.advance(Millis(60'000));
  const auto later = ask();
  settle();
  EXPECT_THAT(spawner_.processes(), SizeIs(3)) << "the disk may have failed";
}

TEST_F(MemoryPredictorTest, ChildThatIsLateIsKilled) {
  const auto first = ask();
  process(0).ignore_terminate();
  timers_.advance(Millis(1000));
  settle();
  ASSERT_TRUE(*first && !**first);
  EXPECT_EQ((*first)->error().code, errc::load_failed);
  EXPECT_THAT((*first)->error().message, HasSubstr("within 1 s"));
  EXPECT_FALSE(process(0).alive());
}

TEST_F(MemoryPredictorTest, StopAnswersWhoWaits) {
  LoadOptions other;
  other.ctx_size = 1;
  const auto first = ask(), second = ask(other);
  stop();
  EXPECT_TRUE(*first && !**first);
  EXPECT_TRUE(*second && !**second);
  EXPECT_FALSE(process(0).alive());
}

}  // namespace
}  // namespace corral::backends
