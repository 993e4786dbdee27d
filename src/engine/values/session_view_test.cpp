// What sessions() tells of each session.
#include <algorithm>
#include <future>
#include <optional>
#include <thread>

#include "engine/test_held_worker.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(SessionViews, TellStateAndOrderInTheQueue) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.max_sequences = 1;
  const auto engine = load(options);
  const SessionId empty = *engine->create_session({.n_ctx = 100});
  const SessionId first = session_with(*engine, some_tokens(30)), next = session_with(*engine, some_tokens(10)),
                  last = session_with(*engine, some_tokens(10));
  std::vector<StreamHandle> streams;
  std::optional<HeldWorker> decoding;
  {
    HeldWorker all_ask(*engine);
    all_ask.views();
    for (const SessionId session : {first, next, last})
      streams.push_back(*engine->generate_stream(session, endless(50)));
    decoding.emplace(*engine, [first](const Views& views) { return view_of(views, first).generated == 3; });
  }
  const Views views = decoding->views();
  ASSERT_EQ(views.size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(views, {}, &SessionView::id));
  EXPECT_EQ(view_of(views, empty).state, SessionState::idle);
  EXPECT_EQ(view_of(views, empty).n_ctx, 100u);
  EXPECT_EQ(view_of(views, empty).tokens, 0u);
  EXPECT_EQ(view_of(views, first).state, SessionState::decoding);
  EXPECT_EQ(view_of(views, first).tokens, 33u);
  EXPECT_EQ(view_of(views, first).cached_tokens, 32u);  // the last one sampled is pending
  EXPECT_EQ(view_of(views, first).queue_place, 0u);
  EXPECT_EQ(view_of(views, next).state, SessionState::waiting);
  EXPECT_EQ(view_of(views, next).queue_place, 1u);
  EXPECT_EQ(view_of(views, last).queue_place, 2u);
  decoding.reset();
  for (StreamHandle& stream : streams) drain(stream);
  const Views after = engine->sessions();
  EXPECT_EQ(view_of(after, last).state, SessionState::idle);
  EXPECT_EQ(view_of(after, last).tokens, 60u);
  EXPECT_EQ(view_of(after, last).generated, 0u);
}

TEST(SessionViews, TellPausedAndParked) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 512;
  options.stream_tokens = 8;
  const auto engine = load(options);
  const SessionId displaced = session_with(*engine, some_tokens(300)),
                  paused = session_with(*engine, some_tokens(400, 2));
  generate(*engine, displaced, endless(1));
  EXPECT_EQ(view_of(engine->sessions(), displaced).state, SessionState::idle);
  HeldWorker held(*engine, [paused](const Views& views) { return view_of(views, paused).generated >= 8; });
  const auto stream = *engine->generate_stream(paused, endless(50));
  EXPECT_EQ(view_of(held.views(), paused).state, SessionState::paused);
  EXPECT_EQ(view_of(held.views(), displaced).state, SessionState::parked);
  EXPECT_EQ(view_of(held.views(), displaced).cached_tokens, 0u);
  EXPECT_EQ(view_of(held.views(), displaced).tokens, 301u);
}

// A worker that was quicker than the one who asked used to leave the answer to that thread, now and then.
TEST(SessionViews, AreToldOnAWorkersThread) {
  const auto engine = load(load_options("tiny-llama"));
  for (int i = 0; i < 200; ++i) {
    std::promise<std::thread::id> called_on;
    engine->sessions([&](const Views&) { called_on.set_value(std::this_thread::get_id()); });
    EXPECT_NE(called_on.get_future().get(), std::this_thread::get_id());
  }
}

TEST(SessionViews, OfAllWorkersInOneList) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.workers = 3;
  const auto engine = load(options);
  for (int i = 0; i < 5; ++i) session_with(*engine, some_tokens(10));
  const Views views = engine->sessions();
  ASSERT_EQ(views.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(views[i].worker, i % 3);
  EXPECT_TRUE(load(load_options("tiny-embed"))->sessions().empty());
}

}  // namespace
}  // namespace corral::engine::test
