// Pieces of sound: none is too long, all samples are in one, and cuts are in pauses.
#include "dialects/audio/sound_cutter.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace corral::dialects::audio {
namespace {

constexpr std::uint32_t kRate = 8'000;
constexpr WavFormat kFormat{kRate, 1};

std::vector<std::int16_t> noise(double seconds) {
  std::vector<std::int16_t> samples(static_cast<std::size_t>(seconds * kRate));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = i % 2 == 0 ? 8'000 : -8'000;
  return samples;
}
void silence(std::vector<std::int16_t>& samples, double from, double to) {
  std::fill(samples.begin() + static_cast<int>(from * kRate), samples.begin() + static_cast<int>(to * kRate), 0);
}

// Fed in steps of so many samples.
std::vector<SoundPiece> cut(const std::vector<std::int16_t>& samples, std::size_t step,
                            const WavFormat& format = kFormat) {
  SoundCutter cutter(format);
  std::vector<SoundPiece> pieces;
  const auto take = [&] {
    while (auto piece = cutter.next()) pieces.push_back(std::move(*piece));
  };
  for (std::size_t at = 0; at < samples.size(); at += step) {
    cutter.feed(std::span(samples).subspan(at, std::min(step, samples.size() - at)));
    take();
  }
  cutter.end();
  take();
  return pieces;
}
std::vector<double> starts(const std::vector<SoundPiece>& pieces) {
  std::vector<double> seconds;
  for (const auto& piece : pieces) seconds.push_back(static_cast<double>(piece.first) / kRate);
  return seconds;
}

TEST(SoundCutter, CutsInTheMiddleOfThePauses) {
  auto samples = noise(70);
  silence(samples, 20, 20.4);
  silence(samples, 41, 41.4);
  for (const std::size_t step : {1u, 1'000u, 1'000'000u}) {
    const auto pieces = cut(samples, step);
    ASSERT_EQ(pieces.size(), 3u) << step;
    EXPECT_NEAR(starts(pieces)[1], 20.2, 0.11);
    EXPECT_NEAR(starts(pieces)[2], 41.2, 0.11);
  }
}

TEST(SoundCutter, WithoutPausesPiecesAreAsLongAsTheyMayBe) {
  const auto samples = noise(100.123);
  const auto pieces = cut(samples, 4'096);
  std::vector<std::int16_t> all;
  for (const auto& piece : pieces) {
    EXPECT_EQ(piece.first, all.size());
    EXPECT_LE(piece.samples.size(), 30u * kRate);
    EXPECT_GE(piece.samples.size(), std::size_t{kRate});
    all.insert(all.end(), piece.samples.begin(), piece.samples.end());
  }
  EXPECT_EQ(all, samples);
  EXPECT_EQ(pieces.size(), 4u);
}

TEST(SoundCutter, ShortSoundIsOnePiece) {
  EXPECT_EQ(cut(noise(30), 999).size(), 1u);
  EXPECT_EQ(cut(noise(0.01), 999).size(), 1u);
  EXPECT_EQ(cut({}, 1).size(), 0u);
}

TEST(SoundCutter, TheLastPieceIsNotTooShort) {
  const auto pieces = cut(noise(30.2), 1'000);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_GE(pieces[1].samples.size(), std::size_t{kRate});
}

TEST(SoundCutter, ChannelsBecomeOne) {
  const auto pieces = cut({100, 300, -100, -300}, 2, {kRate, 2});
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].samples, (std::vector<std::int16_t>{200, -200}));
}

}  // namespace
}  // namespace corral::dialects::audio
