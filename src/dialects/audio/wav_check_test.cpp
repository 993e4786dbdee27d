// Headers of clients' wav files: what is accepted, and the whole text of each refusal.
#include "dialects/audio/wav_check.h"

#include <cstring>

#include <gtest/gtest.h>

#include "protocol/errors.h"

namespace corral::dialects::audio {
namespace {

std::string bytes_of_number(std::uint32_t value, std::size_t bytes) {
  return {reinterpret_cast<const char*>(&value), bytes};
}
std::string chunk(const std::string& name, const std::string& content) {
  return name + bytes_of_number(static_cast<std::uint32_t>(content.size()), 4) + content;
}
std::string format(std::uint32_t code, std::uint32_t channels, std::uint32_t rate, std::uint32_t bits,
                   std::uint32_t block) {
  return chunk("fmt ", bytes_of_number(code, 2) + bytes_of_number(channels, 2) + bytes_of_number(rate, 4) +
                           bytes_of_number(rate * block, 4) + bytes_of_number(block, 2) + bytes_of_number(bits, 2));
}
std::string wav(const std::string& chunks) { return chunk("RIFF", "WAVE" + chunks); }
std::string wav(std::uint32_t code, std::uint32_t channels, std::uint32_t rate, std::uint32_t bits) {
  const auto block = channels * bits / 8;
  return wav(format(code, channels, rate, bits, block) + chunk("data", std::string(4 * block, 's')));
}

Result<CheckedWav> check(const std::string& file) {
  return check_wav(std::string_view(file).substr(0, WavLimits::kLongestHeader), file.size(), "file");
}
// Behind what all refusals begin with; "" if the file is accepted.
std::string refusal(const std::string& file) {
  const auto checked = check(file);
  if (checked) return "";
  EXPECT_EQ(checked.error().code, protocol::errc::bad_value);
  EXPECT_EQ(checked.error().param, "file");
  const std::string begin = "'file' is a wav file that cannot be used: ";
  EXPECT_TRUE(checked.error().message.starts_with(begin)) << checked.error().message;
  return checked.error().message.substr(begin.size());
}

TEST(WavCheck, UsualFilesAreAccepted) {
  const auto usual = check(wav(1, 2, 44'100, 16));
  ASSERT_TRUE(usual);
  EXPECT_EQ(*usual, (CheckedWav{{44'100, 2}, SampleKind::signed_16, 44, 16}));
  EXPECT_DOUBLE_EQ(usual->duration(), 4.0 / 44'100);
  EXPECT_EQ(check(wav(3, 8, 192'000, 32))->kind, SampleKind::float_32);
  for (const auto& [code, bits] : {std::pair(1, 8), {1, 24}, {1, 32}, {3, 64}, {6, 8}, {7, 8}})
    EXPECT_EQ(refusal(wav(code, 1, 8'000, bits)), "") << code << " " << bits;
  EXPECT_EQ(check(wav(7, 1, 8'000, 8))->kind, std::nullopt);
  EXPECT_EQ(refusal(wav(format(17, 1, 8'000, 4, 256) + chunk("data", std::string(256, 's')))), "");
  EXPECT_EQ(check(wav(chunk("LIST", "abcd") + format(1, 1, 8'000, 16, 2) + chunk("data", "ab")))->samples_at, 56u);
  auto extensible = format(0xfffe, 1, 16'000, 16, 2).substr(8) + std::string("\x16\0\x10\0\3\0\0\0\1\0", 10);
  extensible.resize(40, '\0');
  EXPECT_EQ(check(wav(chunk("fmt ", extensible) + chunk("data", "ab")))->kind, SampleKind::signed_16);
}

// Programs that write to a pipe don't know the length.
TEST(WavCheck, AnUnknownLengthGoesToTheEndOfTheFile) {
  for (const std::uint32_t length : {0u, 0x7ffff000u, 0xffffffffu}) {
    const auto file = wav(format(1, 1, 22'050, 16, 2) + "data" + bytes_of_number(length, 4) + "123456");
    const auto checked = check(file);
    ASSERT_TRUE(checked) << length;
    EXPECT_EQ(checked->bytes, 6u);
  }
}

TEST(WavCheck, BytesOfTheOtherOrderAreRead) {
  const std::string file = std::string("RIFX\0\0\0\x26WAVEfmt \0\0\0\x10\0\1\0\1\0\0\x3e\x80\0\0\x7d\0\0\2\0\x10", 36) +
                           std::string("data\0\0\0\2ab", 10);
  const auto checked = check(file);
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->format.rate, 16'000u);
  EXPECT_EQ(checked->kind, std::nullopt) << "read_samples() reads only the usual order";
}

TEST(WavCheck, AbsurdHeadersAreRefusedWithTheLimit) {
  EXPECT_EQ(refusal(wav(1, 1, 1, 16)), "its header claims 1 samples per second; supported: 8000 to 192000");
  EXPECT_EQ(refusal(wav(1, 1, 0xffffffff, 16)),
            "its header claims 4294967295 samples per second; supported: 8000 to 192000");
  EXPECT_EQ(refusal(wav(format(1, 0, 16'000, 16, 0) + chunk("data", "ab"))),
            "its header claims 0 channels; supported: 1 to 8");
  EXPECT_EQ(refusal(wav(1, 9, 16'000, 16)), "its header claims 9 channels; supported: 1 to 8");
  EXPECT_EQ(refusal(wav(1, 1, 16'000, 64)),
            "its header claims format 1 with 64 bits per sample; supported: 1 (whole numbers) with 8, 16, 24 or 32 "
            "bits, 3 (floating-point) with 32 or 64, 6 and 7 (A-law, mu-law) with 8, 2 and 17 (ADPCM) with 4");
  EXPECT_EQ(refusal(wav(format(1, 2, 16'000, 16, 3) + chunk("data", "abc"))),
            "its header claims blocks of 3 bytes, which does not fit 2 channels with 16 bits per sample");
  EXPECT_EQ(refusal(wav(format(17, 1, 16'000, 4, 0) + chunk("data", "abc"))),
            "its header claims blocks of 0 bytes, which does not fit 1 channels with 4 bits per sample");
  EXPECT_EQ(refusal(wav(chunk("fmt ", "abcd") + chunk("data", "abc"))), "its format has 4 bytes, not at least 16");
  EXPECT_EQ(refusal(wav(format(1, 1, 8'000, 16, 2) + format(1, 1, 9'000, 16, 2) + chunk("data", "ab"))),
            "its header has two formats");
  EXPECT_EQ(refusal(wav(chunk("data", "ab"))), "its header has samples before their format");
}

TEST(WavCheck, TruncatedFilesAreRefused) {
  const auto whole = wav(1, 1, 16'000, 16);
  for (std::size_t size = 12; size < 44; ++size) {
    EXPECT_EQ(refusal(whole.substr(0, size)),
              "it ends within its header, after " + std::to_string(size) + " bytes; send the complete file");
  }
  EXPECT_EQ(refusal(whole.substr(0, 46)),
            "its header claims 8 bytes of samples, and the file has 2; send the complete file");
  EXPECT_EQ(refusal(wav(format(1, 1, 16'000, 16, 2) + chunk("data", ""))), "it has no samples");
  EXPECT_EQ(refusal(wav(format(1, 1, 16'000, 16, 2) + chunk("data", "a"))), "it has no samples");
  EXPECT_EQ(refusal(wav(chunk("LIST", std::string(80'000, 'x')) + format(1, 1, 16'000, 16, 2) + chunk("data", "ab"))),
            "its samples do not begin within the first 65536 bytes; remove pictures and texts from it");
}

}  // namespace
}  // namespace corral::dialects::audio
