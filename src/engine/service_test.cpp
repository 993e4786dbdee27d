// LlamaService: which model is current, and what a reload means for those who use it.
#include <fstream>
#include <thread>

#include "engine/service/llama_service.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

constexpr Millis kNever = std::chrono::hours(1);  // a deadline that no test waits for
constexpr Millis kAtOnce{0};

std::unique_ptr<LlamaService> service_with(const EngineLoadOptions& options) {
  auto service = LlamaService::init();
  if (!service) throw std::runtime_error(service.error().message);
  const auto loaded = (*service)->reload({.model = options});
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return std::move(*service);
}

std::string garbage_model() {
  const std::string path = ::testing::TempDir() + "service-garbage.gguf";
  std::ofstream(path) << "this is no model";
  return path;
}

// A generation that goes on until its stream is read: nobody reads, so it pauses.
EngineLoadOptions pausing(const std::string& model) {
  EngineLoadOptions options = load_options(model);
  options.stream_tokens = 8;
  return options;
}

TEST(Service, HasNoModelAtFirst) {
  const auto service = *LlamaService::init();
  EXPECT_EQ(service->current().error().code, errc::model_not_loaded);
  EXPECT_EQ(service->create_session().error().code, errc::model_not_loaded);
  EXPECT_EQ(service->inference("Hi\n").error().code, errc::model_not_loaded);
  EXPECT_EQ(service->reload().error().code, errc::model_not_loaded);
  EXPECT_EQ(service->unload().error().code, errc::model_not_loaded);
  EXPECT_EQ(service->cancel_generate(SessionId(1)).error().code, errc::session_not_found);
  EXPECT_TRUE(service->stats().workers.empty());
}

TEST(Service, LoadsWithWorkersAndServesSessions) {
  const auto service = *LlamaService::init();
  EXPECT_EQ(service->load_model_with_workers(model_path("tiny-llama"), {}, 0).error().code, errc::invalid_worker_count);
  ASSERT_TRUE(service->load_model_with_workers(model_path("tiny-llama"), load_options("scripted-hello"), 2));
  const auto engine = *service->current();
  EXPECT_EQ(engine->facts().workers, 2u);
  EXPECT_EQ(engine->facts().path, model_path("tiny-llama"));
  for (const std::uint64_t id : {1u, 2u, 3u, 4u, 5u}) {
    EXPECT_EQ(service->create_session(), SessionId(id));
    EXPECT_EQ(engine->worker_of(SessionId(id)), (id + 1) % 2);
  }
  EXPECT_TRUE(service->append_input(SessionId(1), some_tokens(10)));
  EXPECT_TRUE(service->append_input(SessionId(1), "and text"));
  auto stream = *service->generate_stream(SessionId(1), endless(5));
  EXPECT_EQ(drain(stream).tokens.size(), 5u);
  EXPECT_TRUE(service->cancel_generate(SessionId(1)));
  EXPECT_TRUE(service->end_session(SessionId(1)));
  EXPECT_EQ(service->end_session(SessionId(1)).error().code, errc::session_not_found);
  (void)engine->sessions();  // one round later the counters of the last pass are published
  EXPECT_EQ(service->stats().total().predicted_tokens, 5u);
  EXPECT_TRUE(service->unload());
  EXPECT_EQ(service->current().error().code, errc::model_not_loaded);
}

TEST(Service, InferenceGivesTheWholeAnswerAndEndsItsSession) {
  const auto service = service_with(load_options("scripted-hello"));
  const auto answer = service->inference("Hi\n", {.generate = greedy(100)});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text,
            "Hello! I am a scripted model, and every word of this answer was known before you asked for it.");
  EXPECT_EQ(answer->finish.reason, FinishReason::stop);
  EXPECT_EQ(answer->finish.usage.completion_tokens, answer->tokens.size());
  EXPECT_GT(answer->finish.usage.prompt_tokens, 0u);
  EXPECT_TRUE((*service->current())->sessions().empty());
}

TEST(Service, InferenceStreamEndsItsSessionWhenItIsOverOrDropped) {
  const auto service = service_with(pausing("scripted-endless"));
  const auto engine = *service->current();
  {
    auto dropped = *service->inference_stream("go\n", {.generate = greedy(1000)});
    EXPECT_TRUE(dropped.next());
    auto moved = std::move(dropped);
    EXPECT_EQ(engine->sessions().size(), 1u);
  }
  EXPECT_TRUE(engine->sessions().empty());
  auto read = *service->inference_stream("go\n", {.generate = greedy(20)});
  EXPECT_EQ(drain(read).tokens.size(), 20u);
  EXPECT_TRUE(engine->sessions().empty());
}

TEST(Service, InferenceThatCannotStartLeavesNoSession) {
  const auto service = service_with(load_options("tiny-llama"));
  InferenceOptions options{.session = {.n_ctx = 4}};
  EXPECT_EQ(service->inference("far more tokens than that", options).error().code, errc::context_full);
  options = {};
  options.generate.grammar.emplace().gbnf = "root ::= (";
  EXPECT_EQ(service->inference("x", options).error().code, errc::invalid_argument);
  EXPECT_TRUE((*service->current())->sessions().empty());
}

TEST(Service, FailedLoadKeepsTheOldModelAndItsSessions) {
  const auto service = service_with(load_options("tiny-llama"));
  const auto engine = *service->current();
  const SessionId session = session_with(*engine, some_tokens(20));
  const std::vector<Token> first = generate(*engine, session, endless(5)).tokens;
  for (const ReloadOrder order : {ReloadOrder::load_first, ReloadOrder::unload_first}) {
    EngineLoadOptions missing = load_options("tiny-llama");
    missing.path = "/nowhere/model.gguf";
    const auto failed = service->reload({.model = missing, .order = order});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, errc::file_not_found);
    ASSERT_NE(failed.error().fact<LoadFailed>(), nullptr);
    EXPECT_EQ(failed.error().fact<LoadFailed>()->path, "/nowhere/model.gguf");
    EngineLoadOptions wrong = load_options("tiny-llama");
    wrong.workers = 0;
    EXPECT_EQ(service->reload({.model = wrong, .order = order}).error().code, errc::invalid_worker_count);
  }
  EngineLoadOptions broken = load_options("tiny-llama");
  broken.path = garbage_model();
  EXPECT_EQ(service->reload({.model = broken}).error().code, errc::load_failed);
  EXPECT_EQ(service->reload({.model = std::nullopt}, [](float) { return false; }).error().code, errc::load_cancelled);
  EXPECT_EQ(*service->current(), engine);
  EXPECT_TRUE(
      Reference("tiny-llama").is_greedy(some_tokens(20) + first, generate(*engine, session, endless(5)).tokens, true));
}

TEST(Service, FailedLoadAfterUnloadBringsTheOldModelBack) {
  const auto service = service_with(load_options("scripted-hello"));
  const SessionId session = *service->create_session();
  EngineLoadOptions broken = load_options("tiny-llama");
  broken.path = garbage_model();
  const auto failed = service->reload({.model = broken, .order = ReloadOrder::unload_first, .drain = kAtOnce});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::load_failed);
  EXPECT_EQ((*service->current())->facts().path, model_path("scripted-hello"));
  EXPECT_EQ(service->end_session(session).error().code, errc::session_not_found);
  EXPECT_TRUE(service->inference("Hi\n", {.generate = greedy(100)}));
}

TEST(Service, ReloadOrderDecidesWhichModelsAreThereMeanwhile) {
  const auto service = service_with(load_options("tiny-llama"));
  std::weak_ptr<InferenceEngine> former = *service->current();
  bool called = false;
  const auto watch = [&](bool stays) {
    return [&, stays](float) {
      called = true;
      EXPECT_EQ(former.expired(), !stays);
      EXPECT_EQ(service->current().has_value(), stays);
      return true;
    };
  };
  EXPECT_TRUE(service->reload({.model = load_options("tiny-qwen3")}, watch(true)));
  EXPECT_TRUE(std::exchange(called, false));
  EXPECT_TRUE(former.expired());
  former = *service->current();
  EXPECT_TRUE(service->reload({.order = ReloadOrder::unload_first, .drain = kNever}, watch(false)));
  EXPECT_TRUE(called);
  EXPECT_EQ((*service->current())->facts().architecture, "qwen3");
}

// The generation of the former model stands still until its reader comes, and its reader comes only when the new model
// is there: a reload that didn't wait would cut it off.
TEST(Service, ReloadDrainsRunningGenerations) {
  const auto service = service_with(pausing("tiny-llama"));
  const std::shared_ptr<InferenceEngine> former = *service->current();
  const SessionId session = session_with(*former, some_tokens(20));
  auto stream = *service->generate_stream(session, endless(100));
  Answer answer;
  std::thread reader([&] {
    while (*service->current() == former) std::this_thread::yield();
    // Old sessions are still found by their ids, new ones come to the new model.
    EXPECT_TRUE(service->append_input(session, some_tokens(3)));
    const auto fresh = service->create_session();
    EXPECT_TRUE(fresh && (*service->current())->has_session(*fresh));
    // What hasn't begun doesn't begin any more.
    EXPECT_EQ(former->create_session().error().code, errc::worker_shutdown);
    answer = drain(stream);
  });
  EXPECT_TRUE(service->reload({.drain = kNever}));
  reader.join();
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_EQ(answer.tokens.size(), 100u);
  EXPECT_EQ(service->append_input(session, "x").error().code, errc::session_not_found);
}

TEST(Service, ReloadDrainsEmbeddingsToo) {
  const auto service = service_with(load_options("tiny-embed"));
  const auto former = *service->current();
  auto embedding = *former->embed({some_tokens(100), some_tokens(50)});
  EXPECT_TRUE(service->reload({.drain = kNever}));
  EXPECT_TRUE(embedding.get());
  EXPECT_EQ(former->embed({some_tokens(5)}).error().code, errc::worker_shutdown);
}

TEST(Service, AtTheDeadlineWhatStillRunsEndsWithShutdown) {
  const auto service = service_with(pausing("scripted-endless"));
  auto paused = *service->inference_stream("go\n", {.generate = greedy(100'000)});
  auto cancelled_later = *service->inference_stream("go\n", {.generate = greedy(100'000)});
  EXPECT_TRUE(service->reload({.drain = kAtOnce}));
  EXPECT_EQ(drain(paused).finish.reason, FinishReason::shutdown);
  cancelled_later.cancel();
  EXPECT_EQ(drain(cancelled_later).finish.reason, FinishReason::shutdown);
}

TEST(Service, OldHandlesStayValidUntilDropped) {
  auto service = service_with(load_options("scripted-hello"));
  auto former = *service->current();
  const std::weak_ptr<InferenceEngine> watched = former;
  const SessionId session = *former->create_session();
  EXPECT_TRUE(service->reload({.model = load_options("tiny-llama"), .drain = kAtOnce}));
  EXPECT_EQ(former->facts().path, model_path("scripted-hello"));
  EXPECT_EQ(former->detokenize(*former->tokenize("Hi there", false, false)), "Hi there");
  EXPECT_EQ(former->stats().workers.size(), 1u);
  EXPECT_TRUE(former->sessions().empty());
  EXPECT_EQ(former->append_input(session, "x").error().code, errc::worker_shutdown);
  EXPECT_EQ(former->generate_stream(session, greedy(1)).error().code, errc::worker_shutdown);
  former.reset();
  EXPECT_TRUE(watched.expired());
  // And beyond the service's own end.
  former = *service->current();
  service.reset();
  EXPECT_EQ(former->facts().path, model_path("tiny-llama"));
  EXPECT_EQ(former->create_session().error().code, errc::worker_shutdown);
}

TEST(Service, SessionIdsAreNeverUsedAgain) {
  const auto service = service_with(load_options("tiny-llama"));
  EXPECT_EQ(service->create_session(), SessionId(1));
  EXPECT_EQ(service->create_session(), SessionId(2));
  EXPECT_TRUE(service->end_session(SessionId(2)));
  EXPECT_TRUE(service->reload());
  EXPECT_EQ(service->create_session(), SessionId(3));
  EXPECT_TRUE(service->unload());
  EXPECT_TRUE(service->load_model_with_workers(model_path("tiny-qwen3"), load_options("tiny-qwen3"), 1));
  EXPECT_EQ(service->create_session(), SessionId(4));
  const auto gone = service->append_input(SessionId(1), "x");
  ASSERT_FALSE(gone);
  ASSERT_NE(gone.error().fact<SessionNotFound>(), nullptr);
  EXPECT_EQ(gone.error().fact<SessionNotFound>()->id, SessionId(1));
}

TEST(Service, InferencesGoOnAcrossReloads) {
  const auto service = service_with(load_options("scripted-hello"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto answer = service->inference("Hi\n", {.generate = greedy(100)});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->finish.reason, FinishReason::stop);
      }
    });
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(service->reload({.drain = kNever}));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace corral::engine::test
