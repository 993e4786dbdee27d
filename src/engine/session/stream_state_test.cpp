#include "engine/session/stream_state.h"

#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

StreamChunk chunk(std::string text, std::uint32_t tokens) {
  StreamChunk c;
  c.text = std::move(text);
  c.tokens.assign(tokens, 7);
  return c;
}

struct Counted {
  explicit Counted(std::uint32_t capacity = 0, StreamState::Unread unread = StreamState::Unread::joined)
      : state(std::make_shared<StreamState>(
            capacity, StreamState::Owner{.drained = [this] { ++drained; }, .cancelled = [this] { ++cancelled; }},
            unread)) {}
  int drained = 0;
  int cancelled = 0;
  std::shared_ptr<StreamState> state;
};

TEST(Stream, JoinsWhatIsUnreadAndEndsOnce) {
  Counted c;
  StreamHandle handle(c.state);
  EXPECT_FALSE(handle.try_next());
  c.state->push(chunk("a", 1));
  c.state->push(chunk("b", 2));
  c.state->finish({});
  c.state->finish({});
  const auto first = handle.next();
  EXPECT_EQ(first->text, "ab");
  EXPECT_EQ(first->tokens.size(), 3u);
  EXPECT_FALSE(first->finish);
  EXPECT_TRUE(handle.next()->finish);
  EXPECT_TRUE(handle.finished());
  EXPECT_FALSE(handle.next());
  EXPECT_FALSE(handle.try_next());
}

TEST(Stream, KeepsChunksApartWhereThatIsWanted) {
  Counted c(4, StreamState::Unread::apart);
  StreamHandle handle(c.state);
  StreamChunk prompt;
  prompt.prompt = {{.total = 9, .processed = 1}};
  c.state->push(prompt);
  prompt.prompt[0].processed = 9;
  c.state->push(prompt);
  for (const char* text : {"a", "b", "c", "d"}) c.state->push(chunk(text, 1));
  EXPECT_TRUE(c.state->full());
  EXPECT_EQ(handle.next()->prompt.size(), 2u) << "that grows";
  EXPECT_EQ(handle.next()->text, "a");
  EXPECT_TRUE(c.state->full()) << "until half is read";
  EXPECT_EQ(c.drained, 0);
  EXPECT_EQ(handle.next()->text, "b");
  EXPECT_FALSE(c.state->full());
  EXPECT_EQ(c.drained, 1);
  c.state->finish({});
  EXPECT_EQ(handle.next()->text, "c");
  EXPECT_EQ(handle.next()->text, "d");
  EXPECT_TRUE(handle.next()->finish);
  EXPECT_EQ(c.drained, 1);
}

TEST(Stream, WakesOncePerEmptyToNonEmpty) {
  Counted c;
  StreamHandle handle(c.state);
  int wakes = 0;
  handle.set_waker([&] { ++wakes; });
  EXPECT_EQ(wakes, 0);
  c.state->push(chunk("a", 1));
  c.state->push(chunk("b", 1));
  EXPECT_EQ(wakes, 1);
  handle.try_next();
  c.state->finish({});
  EXPECT_EQ(wakes, 2);
}

TEST(Stream, AWakerSetLateIsCalledForWhatIsThereAlready) {
  Counted c;
  StreamHandle handle(c.state);
  c.state->push(chunk("a", 1));
  int wakes = 0;
  handle.set_waker([&] { ++wakes; });
  EXPECT_EQ(wakes, 1);
}

TEST(Stream, FullUntilReadThenTellsItsOwner) {
  Counted c(3);
  StreamHandle handle(c.state);
  c.state->push(chunk("ab", 2));
  EXPECT_FALSE(c.state->full());
  c.state->push(chunk("c", 1));
  EXPECT_TRUE(c.state->full());
  EXPECT_EQ(handle.next()->text, "abc");
  EXPECT_FALSE(c.state->full());
  EXPECT_EQ(c.drained, 1);
}

TEST(Stream, DroppingTheHandleCancelsUnlessItEnded) {
  Counted running, ended;
  {
    StreamHandle handle(running.state);
  }
  EXPECT_EQ(running.cancelled, 1);
  {
    StreamHandle handle(ended.state);
    ended.state->finish({});
  }
  EXPECT_EQ(ended.cancelled, 0);
  StreamHandle moved_from(running.state);
  StreamHandle moved_to = std::move(moved_from);
  EXPECT_FALSE(moved_from);  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(moved_from.next());
  EXPECT_EQ(running.cancelled, 1);
}

TEST(Stream, NextWaitsForTheOtherThread) {
  Counted c;
  StreamHandle handle(c.state);
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) c.state->push(chunk("x", 1));
    c.state->finish({});
  });
  std::size_t tokens = 0;
  while (auto one = handle.next()) tokens += one->tokens.size();
  writer.join();
  EXPECT_EQ(tokens, 1000u);
}

// A handle that goes away while its waker runs on another thread.
TEST(Stream, NoWakerRunsAfterTheHandleIsGone) {
  for (int round = 0; round < 200; ++round) {
    Counted c;
    auto handle = std::make_unique<StreamHandle>(c.state);
    auto alive = std::make_unique<int>(1);
    handle->set_waker([&alive] { EXPECT_EQ(*alive, 1); });
    std::thread writer([&] { c.state->push(chunk("x", 1)); });
    handle.reset();
    alive.reset();
    writer.join();
  }
}

}  // namespace
}  // namespace corral::engine
