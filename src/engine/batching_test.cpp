// Rules: what a session says doesn't depend on who else is there, on shared prefixes, or on having lost its place.
#include <algorithm>
#include <set>
#include <thread>

#include "engine/cache/parking.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

std::vector<Token> prompt_of(std::uint32_t i) { return some_tokens(5 + 37 * i % 90, i + 1); }

class Batching : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Batching,
                         ::testing::Values("tiny-llama", "tiny-qwen3", "tiny-moe", "tiny-mamba", "tiny-jamba",
                                           "tiny-gemma3", "tiny-gpt-oss", "tiny-qwen2vl"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(Batching, SoloAndAmongFifteenOthersAreIdentical) {
  const auto service = load(load_options(GetParam()));
  const Reference reference(GetParam());
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < 16; ++i) {
    streams.push_back(*service->generate_stream(session_with(*service, prompt_of(i)), endless(40)));
  }
  for (std::uint32_t i = 0; i < 16; ++i)
    EXPECT_TRUE(reference.is_greedy(prompt_of(i), drain(streams[i]).tokens, true)) << i;
  EXPECT_GT(service->stats().total().max_batch, 16u) << "they were never batched";
}

TEST_P(Batching, PromptLongerThanABatch) {
  EngineLoadOptions options = load_options(GetParam());
  options.n_batch = 32;
  const auto service = load(options);
  const Answer answer = generate(*service, session_with(*service, some_tokens(1000)), endless(10));
  EXPECT_TRUE(Reference(GetParam()).is_greedy(some_tokens(1000), answer.tokens, true));
}

TEST_P(Batching, MoreSessionsThanPlacesAllFinish) {
  EngineLoadOptions options = load_options(GetParam());
  options.max_sequences = 3;
  const auto service = load(options);
  const Reference reference(GetParam());
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < 12; ++i)
    streams.push_back(*service->generate_stream(session_with(*service, prompt_of(i)), endless(12)));
  for (std::uint32_t i = 0; i < 12; ++i)
    EXPECT_TRUE(reference.is_greedy(prompt_of(i), drain(streams[i]).tokens, true)) << i;
}

// 5 sessions of 200 tokens each in 512 cells: not all at once, but all in the end, and none the worse for it.
class Exhausted : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Exhausted, ::testing::Values("tiny-llama", "tiny-jamba", "tiny-gemma3"),
                         [](const auto& info) { return std::string(info.param).substr(5); });

TEST_P(Exhausted, KvExhaustedBySeveralAndAllStillFinish) {
  EngineLoadOptions options = load_options(GetParam());
  options.n_ctx = 512;
  const auto service = load(options);
  const Reference reference(GetParam());
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < 5; ++i) {
    streams.push_back(*service->generate_stream(session_with(*service, some_tokens(100, i + 1)), endless(150)));
  }
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Answer answer = drain(streams[i]);
    EXPECT_EQ(answer.finish.reason, FinishReason::length) << i;
    EXPECT_TRUE(reference.is_greedy(some_tokens(100, i + 1), answer.tokens, true)) << i;
  }
  EXPECT_GT(service->stats().total().preemptions, 0u);
}

// Who loses KV cells first: what ended sessions left, then sessions that don't run, oldest first; nobody who runs.
TEST(Batching, CellsAreTakenFromKeptPrefixesThenFromIdleSessions) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 512;
  const auto service = load(options);
  const auto cells_of = [&](SessionId session) {
    const auto views = service->sessions();
    return std::ranges::find(views, session, &SessionView::id)->cached_tokens;
  };
  const SessionId ended = session_with(*service, some_tokens(150, 1));
  generate(*service, ended, endless(1));
  EXPECT_TRUE(service->end_session(ended));
  const SessionId oldest = session_with(*service, some_tokens(150, 2));
  generate(*service, oldest, endless(1));
  EXPECT_EQ(cells_of(oldest), 150u);
  EXPECT_EQ(service->stats().total().cached_prefixes, 1u);

  const SessionId newer = session_with(*service, some_tokens(300, 3));
  generate(*service, newer, endless(1));
  EXPECT_EQ(cells_of(oldest), 150u);
  EXPECT_EQ(service->stats().total().cached_prefixes, 0u);

  const SessionId newest = session_with(*service, some_tokens(150, 4));
  generate(*service, newest, endless(1));
  EXPECT_EQ(cells_of(oldest), 0u);
  EXPECT_EQ(cells_of(newer), 300u);
  EXPECT_EQ(service->stats().total().preemptions, 0u);
}

TEST(Batching, SharedPrefixIsReusedAndChangesNothing) {
  const std::vector<Token> system = some_tokens(200);
  const Reference reference("tiny-qwen3");
  const auto service = load(load_options("tiny-qwen3"));
  const auto ask = [&](std::uint32_t i) {
    const SessionId session = session_with(*service, system + some_tokens(10, i));
    const Answer answer = generate(*service, session, endless(20));
    EXPECT_TRUE(reference.is_greedy(system + some_tokens(10, i), answer.tokens, true)) << i;
    EXPECT_TRUE(service->end_session(session));
    return answer.finish.usage.cached_tokens;
  };
  EXPECT_EQ(ask(1), 0u);
  EXPECT_EQ(ask(2), 200u);
  EXPECT_EQ(ask(3), 200u);
  EXPECT_EQ(ask(2), 209u);  // all but the last token, which is computed for its logits
}

TEST(Batching, SharedCellsCountOnce) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.kv_layout = KvLayout::unified;
  const auto service = load(options);
  std::vector<SessionId> sessions;
  for (std::uint32_t i = 0; i < 3; ++i) {
    sessions.push_back(session_with(*service, some_tokens(200) + some_tokens(10, i)));
    generate(*service, sessions.back(), endless(5));
  }
  service->sessions();  // behind the last pass
  const std::uint32_t used = service->stats().total().kv_used;
  EXPECT_GE(used, 200u + 3 * 14);
  EXPECT_LE(used, 200u + 3 * 15);
}

TEST(Batching, PrefixOfALivingSessionIsSharedToo) {
  const auto service = load(load_options("tiny-llama"));
  const std::vector<Token> system = some_tokens(100);
  auto first = *service->generate_stream(session_with(*service, system), endless(300));
  EXPECT_TRUE(first.next());
  const Answer second = generate(*service, session_with(*service, system + some_tokens(9, 5)), endless(20));
  EXPECT_EQ(second.finish.usage.cached_tokens, 100u);
  EXPECT_TRUE(Reference("tiny-llama").is_greedy(system + some_tokens(9, 5), second.tokens, true));
  first.cancel();
}

TEST(Batching, PrefixCacheCanBeOff) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.prefix_cache_tokens = 0;
  const auto service = load(options);
  for (int i = 0; i < 2; ++i) {
    const SessionId session = session_with(*service, some_tokens(100));
    EXPECT_EQ(generate(*service, session, endless(5)).finish.usage.cached_tokens, 0u);
    EXPECT_TRUE(service->end_session(session));
  }
}

TEST(Batching, ThousandIdleSessionsLiveSideBySideAndGoOn) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.max_sequences = 32;
  const auto service = load(options);
  const Reference reference("tiny-llama");
  constexpr std::uint32_t kTokens = 40;  // worth parking
  static_assert(kTokens > Parking::kLeast);
  std::vector<SessionId> sessions;
  std::vector<std::vector<Token>> first(1000);
  for (std::uint32_t begin = 0; begin < 1000; begin += 50) {
    std::vector<StreamHandle> streams;
    for (std::uint32_t i = begin; i < begin + 50; ++i) {
      sessions.push_back(session_with(*service, some_tokens(kTokens, i)));
      streams.push_back(*service->generate_stream(sessions.back(), endless(2)));
    }
    for (std::uint32_t i = begin; i < begin + 50; ++i) first[i] = drain(streams[i - begin]).tokens;
  }
  EXPECT_EQ(service->stats().total().sessions, 1000u);
  // The cells are for some tens of them, the ids for 255.
  const auto of_state = [&](SessionState state) {
    return std::ranges::count(service->sessions(), state, &SessionView::state);
  };
  EXPECT_GE(of_state(SessionState::parked), 700);
  EXPECT_GE(service->stats().total().parked, 700u);
  EXPECT_EQ(of_state(SessionState::parked) + of_state(SessionState::idle), 1000);
  for (const std::uint32_t i : {0u, 499u, 999u}) {
    EXPECT_TRUE(reference.is_greedy(some_tokens(kTokens, i) + first[i],
                                    generate(*service, sessions[i], endless(4)).tokens, true))
        << i;
  }
}

// Readers that don't read at first: so all are in the middle of their answers at the same time.
TEST(Batching, MoreGenerationsThanSequenceIdsAreUnderWayAtOnce) {
  constexpr std::uint32_t kCount = 300;
  static_assert(kCount > kMaxSequences);
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 8192;
  options.max_sequences = kMaxSequences;
  options.stream_tokens = 4;
  const auto service = load(options);
  const Reference reference("tiny-llama");
  const auto prompt = [](std::uint32_t i) { return some_tokens(20, i + 1); };
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < kCount; ++i)
    streams.push_back(*service->generate_stream(session_with(*service, prompt(i)), endless(20)));
  std::vector<Answer> answers(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) answers[i].tokens = streams[i].next()->tokens;
  const auto views = service->sessions();
  EXPECT_EQ(views.size(), kCount);
  for (const SessionView& view : views) {
    EXPECT_GT(view.generated, 0u);
    EXPECT_LT(view.generated, 20u);
  }
  for (std::uint32_t i = 0; i < kCount; ++i) {
    answers[i] = drain(streams[i], std::move(answers[i]));
    EXPECT_EQ(answers[i].finish.reason, FinishReason::length) << i;
    EXPECT_EQ(answers[i].tokens.size(), 20u) << i;
  }
  for (const std::uint32_t i : {0u, 100u, 254u, 255u, 256u, 299u})
    EXPECT_TRUE(reference.is_greedy(prompt(i), answers[i].tokens, true)) << i;
  (void)service->sessions();  // behind the last pass
  const WorkerStats stats = service->stats().total();
  EXPECT_EQ(stats.generating, 0u);
  EXPECT_GT(stats.max_batch, 100u) << "they hardly shared passes";
}

TEST(Batching, RoundRobinOverWorkersIsObservable) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.workers = 2;
  const auto service = load(options);
  std::vector<std::set<std::uint64_t>> of_worker(2);
  std::vector<StreamHandle> streams;
  for (int i = 0; i < 5; ++i) {
    const SessionId session = session_with(*service, some_tokens(10, 3));
    of_worker[*service->worker_of(session)].insert(session.value());
    streams.push_back(*service->generate_stream(session, endless(10)));
  }
  EXPECT_EQ(of_worker[0], (std::set<std::uint64_t>{1, 3, 5}));
  EXPECT_EQ(of_worker[1], (std::set<std::uint64_t>{2, 4}));
  const Reference reference("tiny-llama");
  for (StreamHandle& stream : streams) EXPECT_TRUE(reference.is_greedy(some_tokens(10, 3), drain(stream).tokens, true));
  const Stats stats = service->stats();
  EXPECT_EQ(stats.workers.size(), 2u);
}

// Each turn is a session of its own, as it is for clients that send the whole conversation each time.
TEST(Batching, AConversationComesBackToTheWorkerThatComputedIt) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.workers = 2;
  const auto service = load(options);
  const Reference reference("tiny-llama");
  std::vector<std::vector<Token>> talks = {some_tokens(150, 1), some_tokens(150, 2), some_tokens(150, 3)};
  std::vector<std::uint32_t> workers(talks.size());
  for (int turn = 0; turn < 4; ++turn) {
    for (std::size_t i = 0; i < talks.size(); ++i) {
      const SessionId session = *service->create_session(talks[i]);
      if (turn == 0) workers[i] = *service->worker_of(session);
      EXPECT_EQ(*service->worker_of(session), workers[i]);
      const Answer answer = generate(*service, session, endless(8));
      EXPECT_TRUE(reference.is_greedy(talks[i], answer.tokens, true));
      // All that the last turn left in the cells; its last token was sampled and never computed.
      EXPECT_EQ(answer.finish.usage.cached_tokens, turn == 0 ? 0 : talks[i].size() - 5 - 1) << turn;
      EXPECT_TRUE(service->end_session(session));
      talks[i] = talks[i] + answer.tokens + some_tokens(5, 10);
    }
  }
  EXPECT_NE(workers[0], workers[1]) << "nothing known, nobody busy: in turn";
  EXPECT_EQ(service->create_session(std::vector<Token>(options.n_ctx, 40)).error().code, errc::context_full);
  EXPECT_TRUE(service->sessions().empty());
}

// A reader that doesn't read: its session pauses, the others don't, and nothing of its text is lost.
TEST(Batching, SlowReaderPausesOnlyItsOwnSession) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.max_sequences = 1;  // the paused one must even give up its place
  options.stream_tokens = 8;
  const auto service = load(options);
  const Reference reference("tiny-llama");
  auto slow = *service->generate_stream(session_with(*service, some_tokens(20)), endless(100));
  for (std::uint32_t i = 2; i < 5; ++i) {
    EXPECT_TRUE(reference.is_greedy(
        some_tokens(20, i), generate(*service, session_with(*service, some_tokens(20, i)), endless(30)).tokens, true));
  }
  const Answer answer = drain(slow);
  EXPECT_TRUE(reference.is_greedy(some_tokens(20), answer.tokens, true));
  for (const StreamChunk& chunk : answer.chunks) EXPECT_LE(chunk.tokens.size(), 8u);
}

TEST(Batching, ManyThreadsAtOnce) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.workers = 2;
  options.max_sequences = 4;
  options.stream_tokens = 16;
  const auto service = load(options);
  const Reference reference("tiny-llama");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 6; ++round) {
        const SessionId session = session_with(*service, some_tokens(15, 2));
        auto stream = *service->generate_stream(session, endless(30));
        if ((t + round) % 3 == 0) {
          EXPECT_TRUE(service->cancel_generate(session));
          EXPECT_EQ(drain(stream).terminals, 1);
        } else {
          EXPECT_TRUE(reference.is_greedy(some_tokens(15, 2), drain(stream).tokens, true));
        }
        (void)service->stats();
        EXPECT_TRUE(service->end_session(session));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace corral::engine::test
