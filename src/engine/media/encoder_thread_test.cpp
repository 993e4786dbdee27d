#include "engine/media/encoder_thread.h"

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

std::shared_ptr<const MediaPiece> piece_of(std::string_view content) {
  return std::make_shared<MediaPiece>(sha256({content}), 4, false);
}

// Waits until the encoder has something for the piece.
MediaEncoder::Found wait_for(EncoderThread& encoder, const std::shared_ptr<const MediaPiece>& wanted) {
  for (;;) {
    auto found = encoder.find(wanted);
    if (found.rows || found.failure) return found;
    std::this_thread::yield();
  }
}

TEST(EncoderThreadTest, AnEqualPieceIsEncodedOnce) {
  std::atomic<int> calls = 0, calls_made = 0;
  EncoderThread encoder(
      [&](const MediaPiece& one) -> Result<MediaRows> {
        ++calls;
        return std::make_shared<std::vector<float>>(one.cells * 2);
      },
      1 << 20);
  encoder.when_encoded([&] { ++calls_made; });
  const auto found = wait_for(encoder, piece_of("a"));
  ASSERT_TRUE(found.rows);
  EXPECT_EQ(found.rows->size(), 8u);
  EXPECT_TRUE(wait_for(encoder, piece_of("a")).rows);
  EXPECT_EQ(calls, 1);
  EXPECT_GE(calls_made, 1);
  wait_for(encoder, piece_of("b"));
  EXPECT_EQ(calls, 2);
  const MediaStats stats = encoder.stats();
  EXPECT_EQ(stats.encoded, 2u);
  EXPECT_EQ(stats.cached, 2u);
  EXPECT_EQ(stats.cached_bytes, 64u);
}

#ifdef __linux__
TEST(EncoderThreadTest, HasALowerPriorityThanTheEngine) {
  std::atomic<int> encoding = 0;
  std::thread([&] {
    ASSERT_NE(::nice(10), -1);  // of this thread, which can't take it back
    const int engine = ::getpriority(PRIO_PROCESS, 0);
    EncoderThread encoder(
        [&](const MediaPiece& one) -> Result<MediaRows> {
          encoding = ::getpriority(PRIO_PROCESS, 0);
          return std::make_shared<std::vector<float>>(one.cells * 2);
        },
        1 << 20);
    wait_for(encoder, piece_of("a"));
    EXPECT_GT(encoding, engine);
  }).join();
}
#endif

TEST(EncoderThreadTest, AFailureIsReportedOnceAndTriedAgain) {
  std::atomic<int> calls = 0;
  EncoderThread encoder(
      [&](const MediaPiece&) -> Result<MediaRows> {
        if (++calls == 1) throw std::runtime_error("no luck");
        return std::make_shared<std::vector<float>>(4);
      },
      1 << 20);
  const auto failed = wait_for(encoder, piece_of("a"));
  ASSERT_TRUE(failed.failure);
  EXPECT_EQ(failed.failure->message, "can't encode the picture or sound: no luck");
  EXPECT_EQ(failed.failure->code, errc::decode_failed);
  EXPECT_TRUE(wait_for(encoder, piece_of("a")).rows);
  EXPECT_EQ(encoder.stats().failures, 1u);
}

TEST(EncoderThreadTest, AFailureThatNoSessionWaitedForIsForgotten) {
  std::promise<void> begun, go_on;
  auto may = go_on.get_future();
  std::atomic<int> calls = 0;
  EncoderThread encoder(
      [&](const MediaPiece&) -> Result<MediaRows> {
        if (++calls > 1) return std::make_shared<std::vector<float>>(4);
        begun.set_value();
        may.wait();
        throw std::runtime_error("no luck");
      },
      1 << 20);
  auto first = piece_of("a");
  encoder.find(first);
  begun.get_future().wait();
  first.reset();
  go_on.set_value();
  const auto later = piece_of("a");
  EXPECT_TRUE(wait_for(encoder, later).rows);
}

// Both have the piece, and the one that the encoder holds goes.
TEST(EncoderThreadTest, ASessionThatWaitsForTheSamePieceIsCalledWhenTheFirstOneEnds) {
  std::promise<void> begun, go_on;
  auto may = go_on.get_future();
  std::atomic<int> calls = 0, calls_made = 0;
  EncoderThread encoder(
      [&](const MediaPiece&) -> Result<MediaRows> {
        if (++calls == 1) {
          begun.set_value();
          may.wait();
        }
        return std::make_shared<std::vector<float>>(4);
      },
      1 << 20);
  encoder.when_encoded([&] { ++calls_made; });
  const auto busy = piece_of("busy"), second = piece_of("b");
  encoder.find(busy);
  begun.get_future().wait();
  {
    const auto first = piece_of("b");
    encoder.find(first);
    encoder.find(second);
  }
  go_on.set_value();
  while (calls_made < 2) std::this_thread::yield();
  EXPECT_TRUE(wait_for(encoder, second).rows);
}

TEST(EncoderThreadTest, APieceWithoutSessionsIsNotEncoded) {
  std::promise<void> go_on;
  auto may = go_on.get_future();
  std::atomic<int> calls = 0;
  EncoderThread encoder(
      [&](const MediaPiece&) -> Result<MediaRows> {
        if (++calls == 1) may.wait();
        return std::make_shared<std::vector<float>>(4);
      },
      1 << 20);
  const auto first = piece_of("a"), last = piece_of("c");
  encoder.find(first);
  {
    const auto gone = piece_of("b");
    encoder.find(gone);
  }
  encoder.find(last);
  go_on.set_value();
  EXPECT_TRUE(wait_for(encoder, last).rows);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace corral::engine
