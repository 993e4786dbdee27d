// Sound: what it is by its bytes, heads of wav, rates, encoders, and what is made of a backend's stream.
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "dialects/audio/encoder.h"
#include "dialects/audio/resampler.h"
#include "dialects/audio/sound_kind.h"
#include "dialects/audio/speech.h"
#include "json/value.h"

namespace corral::dialects::audio {
namespace {

using testing::HasSubstr;

std::vector<std::int16_t> tone(double hertz, std::uint32_t rate, std::size_t count) {
  std::vector<std::int16_t> samples(count);
  for (std::size_t i = 0; i < count; ++i)
    samples[i] = static_cast<std::int16_t>(10'000 * std::sin(2 * std::numbers::pi * hertz * double(i) / rate));
  return samples;
}
std::string bytes(const std::vector<std::int16_t>& samples) {
  return {reinterpret_cast<const char*>(samples.data()), samples.size() * 2};
}

// As programs write it to a pipe, with what espeak-ng says of the length.
std::string piped_wav(const std::vector<std::int16_t>& samples) {
  auto head = wav_head({22'050, 1}, 0);
  const std::uint32_t fake = 0x7ffff024;
  std::memcpy(head.data() + 4, &fake, 4);
  std::memcpy(head.data() + 40, &fake, 4);
  return head + bytes(samples);
}

TEST(SoundKind, TheFirstBytesTell) {
  EXPECT_EQ(kind_of("RIFF\x24\xf0\xff\x7fWAVEfmt "), SoundKind::wav);
  EXPECT_EQ(kind_of("ID3\x04"), SoundKind::mp3);
  EXPECT_EQ(kind_of("\xff\xfb\x90"), SoundKind::mp3);
  EXPECT_EQ(kind_of("\xff\xf1\x50"), SoundKind::aac);
  EXPECT_EQ(kind_of("fLaC"), SoundKind::flac);
  EXPECT_EQ(kind_of(std::string("OggS") + std::string(24, '\0') + "\x01vorbis"), SoundKind::vorbis);
  EXPECT_EQ(kind_of(std::string("OggS") + std::string(24, '\0') + "OpusHead"), SoundKind::opus);
  EXPECT_EQ(kind_of("\x1a\x45\xdf\xa3"), SoundKind::webm);
  EXPECT_EQ(kind_of(std::string("\0\0\0\x20", 4) + "ftypM4A "), SoundKind::mp4);
  for (const char* other : {"", "R", "RIFF", "hello, this is a text", "\xff"})
    EXPECT_EQ(kind_of(other), SoundKind::unknown) << other;
  EXPECT_TRUE(is_plain(SoundKind::vorbis));
  EXPECT_FALSE(is_plain(SoundKind::webm));
}

TEST(Wav, HeadsAreReadAsTheyAreWrittenAndWithMoreInThem) {
  const WavFormat format{22'050, 1};
  const auto head = wav_head(format, 1000);
  ASSERT_EQ(head.size(), kWavHead);
  const auto start = [](const std::string& bytes) { return read_wav_start(bytes).value().value(); };
  EXPECT_EQ(start(head).format, format);
  EXPECT_EQ(start(head).samples_at, kWavHead);
  EXPECT_EQ(start(head).length, 1000u);
  EXPECT_EQ(start(head).kind, SampleKind::signed_16);
  auto listed = head;
  listed.insert(36, std::string("LIST\x03\0\0\0abc\0", 12));
  EXPECT_EQ(start(listed).samples_at, kWavHead + 12);
  for (std::size_t size = 0; size < head.size(); ++size)
    EXPECT_EQ(read_wav_start(head.substr(0, size)).value(), std::nullopt) << size;
  EXPECT_THAT(wav_head(format, kUnknownLength), HasSubstr("data\xff\xff\xff\xff"));
}

// A program that writes to a pipe doesn't know the length, which is then 0, or more than will come.
TEST(Wav, TheLengthCountsIfItIsKnown) {
  const auto length = [](std::uint32_t file, std::uint32_t samples) {
    auto head = wav_head({22'050, 1}, 0);
    std::memcpy(head.data() + 4, &file, 4);
    std::memcpy(head.data() + 40, &samples, 4);
    return read_wav_start(head).value().value().length;
  };
  EXPECT_EQ(length(136, 100), 100u);
  EXPECT_EQ(length(0, 100), 100u);
  EXPECT_EQ(length(36, 0), std::nullopt);
  EXPECT_EQ(length(0, 0), std::nullopt);
  EXPECT_EQ(length(0xffffffff, 0), std::nullopt);
  EXPECT_EQ(length(80, 0), 0u) << "something follows that is no sound";
}

// `chunk`: the format.
std::string wav_of(const std::string& chunk, const std::string& samples) {
  const auto size = [](std::size_t number) {
    const auto bytes = static_cast<std::uint32_t>(number);
    return std::string(reinterpret_cast<const char*>(&bytes), 4);
  };
  return "RIFF" + size(20 + chunk.size() + samples.size()) + "WAVEfmt " + size(chunk.size()) + chunk + "data" +
         size(samples.size()) + samples;
}
std::string wav_of(std::uint16_t code, std::uint16_t channels, std::uint32_t rate, std::uint16_t bits,
                   const std::string& samples = "") {
  std::string chunk(16, '\0');
  std::memcpy(chunk.data(), &code, 2);
  std::memcpy(chunk.data() + 2, &channels, 2);
  std::memcpy(chunk.data() + 4, &rate, 4);
  std::memcpy(chunk.data() + 14, &bits, 2);
  return wav_of(chunk, samples);
}

TEST(Wav, UsualSamplesAreReadAndOthersAreNamed) {
  using Samples = std::vector<std::int16_t>;
  const auto read = [](std::string_view bytes, SampleKind kind) { return read_samples(bytes, kind); };
  EXPECT_EQ(read(std::string_view("\x80\xff\x00", 3), SampleKind::unsigned_8), (Samples{0, 32'512, -32'768}));
  EXPECT_EQ(read(std::string_view("\x12\x34\x56\x99\x00\x80\x11", 7), SampleKind::signed_24),
            (Samples{0x5634, -32'768}));
  EXPECT_EQ(read(std::string_view("\x01\x02\x34\x12", 4), SampleKind::signed_32), (Samples{0x1234}));
  const float floats[] = {0, 1, -2, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(read({reinterpret_cast<const char*>(floats), sizeof floats}, SampleKind::float_32),
            (Samples{0, 32'767, -32'767, 0}));
  const auto kind = [](const std::string& wav) { return read_wav_start(wav).value().value().kind; };
  EXPECT_EQ(kind(wav_of(1, 1, 24'000, 8)), SampleKind::unsigned_8);
  EXPECT_EQ(kind(wav_of(1, 1, 24'000, 24)), SampleKind::signed_24);
  EXPECT_EQ(kind(wav_of(3, 2, 48'000, 32)), SampleKind::float_32);
  auto extensible = wav_of(0xfffe, 2, 48'000, 16).substr(20, 16) + std::string("\x16\0\x10\0\3\0\0\0\1\0", 10);
  extensible.resize(40, '\0');
  EXPECT_EQ(kind(wav_of(extensible, "")), SampleKind::signed_16);

  const auto why = [](const std::string& wav) {
    const auto start = read_wav_start(wav);
    return start ? "it is read" : start.error().message;
  };
  const std::string begin = "the response of the backend is not readable audio: ";
  EXPECT_EQ(why(wav_of(7, 1, 8'000, 8)),
            begin +
                "wav of format 7 with 8 bits (readable: whole numbers of 8, 16, 24 and 32 bits, and floating-point "
                "numbers of 32 bits)");
  EXPECT_EQ(why(wav_of(1, 0, 8'000, 16)), begin + "wav with 0 channels");
  EXPECT_EQ(why(wav_of(1, 1, 1, 16)), begin + "wav with 1 samples a second");
  EXPECT_EQ(why("ID3\x04"), begin + "it is not wav");
  EXPECT_EQ(why("RIFF1234AVI "), begin + "it is not wav");
  EXPECT_EQ(why("RIFF1234WAVEdata1234"), begin + "its samples come before their format");
  EXPECT_EQ(why("RIFF1234WAVELISTxxxx"), begin + "its header is too long");
}

TEST(Resampler, AToneStaysItselfHoweverItComes) {
  const auto from = tone(440, 22'050, 22'050);
  std::vector<std::int16_t> whole, pieces;
  Resampler at_once(22'050, 24'000), bit_by_bit(22'050, 24'000);
  at_once.feed(from, whole);
  at_once.end(whole);
  for (std::size_t at = 0; at < from.size(); at += 7)
    bit_by_bit.feed(std::span(from).subspan(at, std::min<std::size_t>(7, from.size() - at)), pieces);
  bit_by_bit.end(pieces);
  EXPECT_EQ(whole, pieces);
  EXPECT_EQ(whole.size(), 24'000u);
  const auto wanted = tone(440, 24'000, 24'000);
  for (std::size_t i = 100; i + 100 < whole.size(); ++i) ASSERT_NEAR(whole[i], wanted[i], 60) << i;
}

TEST(Resampler, WhatTheNewRateCantCarryIsLeftOut) {
  std::vector<std::int16_t> out;
  Resampler down(48'000, 24'000);
  down.feed(tone(18'000, 48'000, 48'000), out);
  down.end(out);
  for (std::size_t i = 100; i + 100 < out.size(); ++i) ASSERT_LT(std::abs(out[i]), 200) << i;
}

TEST(Encoder, Mp3ComesAsFramesOfItsRate) {
  const auto encoder = make_mp3_encoder({22'050, 1});
  ASSERT_TRUE(encoder);
  auto mp3 = encoder->encode(tone(440, 22'050, 44'100));
  mp3 += encoder->end();
  EXPECT_EQ(kind_of(mp3), SoundKind::mp3);
  EXPECT_NEAR(double(mp3.size()), 2 * 64'000 / 8, 1'500) << "two seconds of 64 kbit";
  EXPECT_FALSE(make_mp3_encoder({22'050, 6}));
}

class SoundPieces final : public http::BodySource {
 public:
  SoundPieces(std::string text, std::size_t size) : text_(std::move(text)), size_(size) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = std::string_view(text_).substr(at_, size_);
    at_ += piece.size();
    co_return piece;
  }

 private:
  const std::string text_;
  const std::size_t size_;
  std::size_t at_ = 0;
};

class SpeechTest : public testing::Test {
 protected:
  http::Response translated(const char* body, std::string wav, std::size_t size = 1'000,
                            const char* type = "audio/wav") {
    auto asked = read_speech(body);
    EXPECT_TRUE(asked);
    canonical = asked->body;
    http::Response answer{{200, {}}, http::Body(std::make_unique<SoundPieces>(std::move(wav), size))};
    answer.head.headers.add("Content-Type", type);
    return async::run_blocking(loop, translate_speech(*asked, std::move(answer), nullptr));
  }
  Result<std::string> text(http::Response& response) {
    return async::run_blocking(loop, response.body.read_all(1 << 24));
  }
  std::string canonical;
  async::Loop loop;
};

TEST_F(SpeechTest, AWavFromAPipeGetsItsLength) {
  const auto samples = tone(440, 22'050, 10'000);
  for (const std::size_t size : {1u, 7u, 1'000'000u}) {
    auto response = translated(R"({"input":"hi","response_format":"wav"})", piped_wav(samples), size);
    EXPECT_EQ(response.head.headers.get("Content-Type"), "audio/wav");
    EXPECT_EQ(text(response), wav_head({22'050, 1}, 20'000) + bytes(samples));
  }
  auto longer = translated(R"({"input":"hi","response_format":"wav"})", piped_wav(tone(440, 22'050, 200'000)));
  const auto all = text(longer);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->starts_with(wav_head({22'050, 1}, kUnknownLength))) << "it goes out before its end is known";
  EXPECT_EQ(all->size(), 400'000 + kWavHead);
}

TEST_F(SpeechTest, Mp3IsMeantWhereNothingIsSaid) {
  auto response = translated(R"({"input":"hi","voice":{"id":"en"}})", piped_wav(tone(440, 22'050, 22'050)));
  EXPECT_EQ(canonical, R"({"input":"hi","voice":"en","response_format":"mp3"})");
  EXPECT_EQ(response.head.headers.get("Content-Type"), "audio/mpeg");
  EXPECT_EQ(kind_of(*text(response)), SoundKind::mp3);
  auto pcm = translated(R"({"input":"hi","response_format":"pcm"})", piped_wav(tone(440, 22'050, 22'050)));
  EXPECT_EQ(text(pcm)->size(), 48'000u) << "24,000 samples of 16 bits";
}

TEST_F(SpeechTest, SoundThatABackendEncodesPassesAsItIs) {
  auto response = translated(R"({"input":"hi"})", "ID3 and more", 5, "audio/mpeg");
  EXPECT_EQ(text(response), "ID3 and more");
}

TEST_F(SpeechTest, OtherProgramsGetTheSamples) {
  const auto samples = tone(440, 22'050, 1'000);
  http::Response answer{{200, {}}, http::Body(std::make_unique<SoundPieces>(piped_wav(samples), 7))};
  answer.head.headers.add("Content-Type", "audio/wav");
  EXPECT_TRUE(is_wav(answer));
  auto raw = async::run_blocking(loop, samples_of(std::move(answer), nullptr));
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->format, (WavFormat{22'050, 1}));
  http::Body body(std::move(raw->source));
  EXPECT_EQ(async::run_blocking(loop, body.read_all(1 << 20)), bytes(samples));
  for (const auto format : {SpeechFormat::opus, SpeechFormat::aac, SpeechFormat::flac})
    EXPECT_TRUE(needs_program(format));
  for (const auto format : {SpeechFormat::mp3, SpeechFormat::wav, SpeechFormat::pcm})
    EXPECT_FALSE(needs_program(format));
  EXPECT_EQ(needs_ffmpeg(SpeechFormat::aac).message,
            "'response_format' aac is not available for this model: use mp3, wav or pcm, or install ffmpeg on the "
            "server's machine (apt-get install ffmpeg)");
}

TEST_F(SpeechTest, WhatCantBeMadeIsToldBeforeItIsBegun) {
  const auto response = translated(R"({"input":"hi","response_format":"opus"})", piped_wav({}));
  EXPECT_EQ(response.head.status, 400u);
  EXPECT_THAT(response.body.text(), HasSubstr("mp3, wav or pcm"));
}

TEST_F(SpeechTest, UnreadableSoundIsAnErrorAndNoBrokenSound) {
  const auto cut = piped_wav({}).substr(0, 40);
  for (const auto& wav :
       {std::string(5'000, 'x'), std::string("x"), std::string(), cut, wav_of(7, 1, 8'000, 8, "abc")}) {
    const auto response = translated(R"({"input":"hi"})", wav, 7);
    EXPECT_EQ(response.head.status, 502u) << wav.size();
    EXPECT_FALSE(response.body.streaming());
    EXPECT_THAT(response.body.text(), HasSubstr("the response of the backend is not readable audio: "));
  }
  const auto six =
      translated(R"({"input":"hi","response_format":"mp3"})", wav_of(1, 6, 48'000, 16, std::string(120, 'x')));
  EXPECT_EQ(six.head.status, 400u);
  EXPECT_THAT(six.body.text(), HasSubstr("'response_format' mp3 is not available for sound with 6 channels and 48000 "
                                         "samples a second: use wav or pcm"));
}

TEST_F(SpeechTest, WhatStandsBehindTheSamplesIsNoSound) {
  const auto samples = tone(440, 22'050, 1'000);
  const auto wav = wav_head({22'050, 1}, 2'000) + bytes(samples) + std::string("LIST\x06\0\0\0abcdef", 14);
  for (const std::size_t size : {1u, 7u, 2'050u, 1'000'000u}) {
    auto response = translated(R"({"input":"hi","response_format":"wav"})", wav, size);
    EXPECT_EQ(text(response), wav_head({22'050, 1}, 2'000) + bytes(samples)) << size;
  }
}

TEST_F(SpeechTest, SamplesOfOtherKindsAndLongHeadsAreSound) {
  const std::string eight(1'000, '\x80');
  auto response = translated(R"({"input":"hi","response_format":"wav"})", wav_of(1, 1, 22'050, 8, eight), 7);
  EXPECT_EQ(text(response), wav_head({22'050, 1}, 2'000) + std::string(2'000, '\0'));
  auto wav = wav_head({22'050, 1}, 4) + "abcd";
  wav.insert(36, std::string("LIST\x40\x9c\0\0", 8) + std::string(40'000, 'x'));
  auto titled = translated(R"({"input":"hi","response_format":"wav"})", wav);
  EXPECT_EQ(text(titled), wav_head({22'050, 1}, 4) + "abcd");
}

TEST_F(SpeechTest, AnAnswerThatIsThereAtOnceIsConvertedToo) {
  auto asked = read_speech(R"({"input":"hi","response_format":"wav"})");
  http::Response answer{{200, {}}, http::Body(piped_wav(tone(440, 22'050, 10)))};
  answer.head.headers.add("Content-Type", "audio/wav");
  auto response = async::run_blocking(loop, translate_speech(*asked, std::move(answer), nullptr));
  EXPECT_EQ(text(response)->size(), kWavHead + 20);
}

TEST_F(SpeechTest, FieldsAreChecked) {
  const auto wrong = [](const char* body) {
    const auto asked = read_speech(body);
    return asked ? "fine" : asked.error().message;
  };
  EXPECT_THAT(wrong("{}"), HasSubstr("'input'"));
  EXPECT_THAT(wrong(R"({"input":""})"), HasSubstr("'input'"));
  EXPECT_THAT(wrong(R"({"input":"a","voice":{"name":"x"}})"), HasSubstr("'voice'"));
  EXPECT_THAT(wrong(R"({"input":"a","response_format":"midi"})"), HasSubstr("'response_format'"));
  EXPECT_THAT(wrong(R"({"input":"a","speed":5})"), HasSubstr("'speed'"));
  EXPECT_THAT(wrong(R"({"input":"a","stream_format":"sse"})"), HasSubstr("'stream_format'"));
}

}  // namespace
}  // namespace corral::dialects::audio
