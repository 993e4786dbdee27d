#include "engine/media/media_header.h"

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes of(std::string_view text) { return {text.begin(), text.end()}; }
Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}
Bytes big(std::uint64_t value, int bytes) {
  Bytes out;
  for (int i = bytes; i-- > 0;) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  return out;
}
Bytes little(std::uint64_t value, int bytes) {
  Bytes out = big(value, bytes);
  return {out.rbegin(), out.rend()};
}

Bytes png_chunk(std::string_view type, const Bytes& data) { return big(data.size(), 4) + of(type) + data + big(0, 4); }
Bytes png(std::uint32_t width, std::uint32_t height, const Bytes& data = {1, 2, 3}) {
  return of("\x89PNG\r\n\x1a\n") + png_chunk("IHDR", big(width, 4) + big(height, 4) + Bytes{8, 2, 0, 0, 0}) +
         png_chunk("IDAT", data) + png_chunk("IEND", {});
}
Bytes jpeg(std::uint32_t width, std::uint32_t height, int scans = 1, std::uint8_t frame = 0xC0) {
  Bytes file = {0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, frame, 0, 11, 8};
  file = file + big(height, 2) + big(width, 2) + Bytes{1, 1, 0x11, 0};
  for (int i = 0; i < scans; ++i) file = file + Bytes{0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0xFF, 0x00, 0x34};
  return file + Bytes{0xFF, 0xD9};
}
Bytes gif(std::uint32_t width, std::uint32_t height) {
  return of("GIF89a") + little(width, 2) + little(height, 2) + Bytes{0, 0, 0, 0x3B};
}
Bytes webp(std::string_view kind, const Bytes& data) {
  const Bytes inside = of("WEBP") + of(kind) + little(data.size(), 4) + data;
  return of("RIFF") + little(inside.size(), 4) + inside;
}
Bytes lossy_webp(std::uint32_t width, std::uint32_t height) {
  return webp("VP8 ", Bytes{0, 0, 0, 0x9D, 0x01, 0x2A} + little(width, 2) + little(height, 2) + Bytes(8));
}
Bytes wav(std::uint32_t rate, std::size_t samples, std::uint32_t claimed = 0, std::uint32_t format = 1,
          std::uint32_t bits = 16, std::uint32_t channels = 1) {
  const std::uint32_t block = bits / 8 * channels;
  const std::uint64_t size = samples * block;
  return of("RIFF") + little(36 + size, 4) + of("WAVEfmt ") + little(16, 4) + little(format, 2) + little(channels, 2) +
         little(rate, 4) + little(std::uint64_t{rate} * block, 4) + little(block, 2) + little(bits, 2) + of("data") +
         little(claimed != 0 ? claimed : size, 4) + Bytes(size);
}
Bytes flac(std::uint32_t rate, std::uint32_t channels, std::uint64_t samples) {
  const std::uint64_t packed =
      std::uint64_t{rate} << 44 | std::uint64_t{channels - 1} << 41 | std::uint64_t{15} << 36 | samples;
  return of("fLaC") + Bytes{0x80, 0, 0, 34} + Bytes(10) + big(packed, 8) + Bytes(16);
}
// 128 kbit/s at 44.1 kHz: 417 bytes.
Bytes mp3(int frames) {
  Bytes file;
  for (int i = 0; i < frames; ++i) {
    Bytes frame(417);
    frame[0] = 0xFF;
    frame[1] = 0xFB;
    frame[2] = 0x90;
    file = file + frame;
  }
  return file;
}

std::string refusal(const Bytes& file, const MediaLimits& limits = {}) {
  const auto header = read_media_header(file, limits);
  if (header) return "accepted";
  EXPECT_EQ(header.error().code, errc::invalid_argument);
  return header.error().message;
}

TEST(MediaHeaders, TellTheSizeOfPictures) {
  struct Case {
    Bytes file;
    MediaFormat format;
  };
  for (const auto& [file, format] :
       {Case{png(640, 480), MediaFormat::png}, Case{jpeg(640, 480), MediaFormat::jpeg},
        Case{jpeg(640, 480, 10, 0xC2), MediaFormat::jpeg}, Case{gif(640, 480), MediaFormat::gif},
        Case{lossy_webp(640, 480), MediaFormat::webp},
        Case{webp("VP8L", Bytes{0x2F} + little(639 | 479 << 14, 4) + Bytes(8)), MediaFormat::webp},
        Case{webp("VP8X", Bytes{0, 0, 0, 0} + little(639, 3) + little(479, 3)), MediaFormat::webp}}) {
    const auto header = read_media_header(file);
    ASSERT_TRUE(header) << to_string(format) << ": " << header.error().message;
    EXPECT_EQ(header->format, format);
    EXPECT_EQ(header->width, 640u);
    EXPECT_EQ(header->height, 480u);
    EXPECT_FALSE(is_sound(header->format));
  }
}

TEST(MediaHeaders, TellTheLengthOfSounds) {
  const auto wave = read_media_header(wav(16'000, 32'000));
  ASSERT_TRUE(wave);
  EXPECT_EQ(wave->rate, 16'000u);
  EXPECT_DOUBLE_EQ(wave->seconds, 2);
  const auto free = read_media_header(flac(44'100, 2, 441'000));
  ASSERT_TRUE(free);
  EXPECT_EQ(free->rate, 44'100u);
  EXPECT_EQ(free->channels, 2u);
  EXPECT_DOUBLE_EQ(free->seconds, 10);
  const auto layer = read_media_header(of("ID3\x04") + Bytes(3) + Bytes{0, 0, 3} + Bytes{7, 7, 7} + mp3(100));
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->rate, 44'100u);
  EXPECT_NEAR(layer->seconds, 100 * 1152 / 44'100.0, 0.001);
}

TEST(MediaHeaders, NameTheLimitThatAFileExceeds) {
  EXPECT_EQ(refusal(png(50'000, 50'000)),
            "a 50000 x 50000 picture has 2500000000 pixels: at most 33177600 are allowed");
  EXPECT_EQ(refusal(jpeg(65'000, 65'000)),
            "a 65000 x 65000 picture has 4225000000 pixels: at most 33177600 are allowed");
  EXPECT_EQ(refusal(webp("VP8X", Bytes{0, 0, 0, 0} + Bytes{255, 255, 255, 255, 255, 255})),
            "a 16777216 x 16777216 picture has 281474976710656 pixels: at most 33177600 are allowed");
  EXPECT_EQ(refusal(png(0, 5)), "the picture has 0 x 5 pixels");
  EXPECT_EQ(refusal(gif(1, 201)),
            "a 1 x 201 picture is too narrow: its longer side may be at most 200 times as long as the other one");
  EXPECT_EQ(refusal(jpeg(100, 100, 65, 0xC2)), "the JPEG file has 65 scans: at most 64 are allowed");
  EXPECT_EQ(refusal(png(10, 10), {.bytes = 20}), "the file has 60 bytes: at most 20 are allowed");
  EXPECT_EQ(refusal(wav(1, 12'000)), "a sound of 1 Hz: 8000 to 192000 Hz are allowed");
  EXPECT_EQ(refusal(wav(200'000, 12'000)), "a sound of 200000 Hz: 8000 to 192000 Hz are allowed");
  EXPECT_EQ(refusal(wav(8000, 100, 0, 1, 16, 9)), "a sound of 9 channels: 1 to 8 are allowed");
  EXPECT_EQ(refusal(wav(8000, 9'700'000, 0, 1, 8)), "a sound of 1212 seconds: at most 1200 are allowed");
  EXPECT_EQ(refusal(flac(8000, 1, (1ull << 36) - 1)), "a sound of 8589935 seconds: at most 1200 are allowed");
  EXPECT_EQ(refusal(wav(16'000, 2)), "a sound of 0.0001 seconds: at least 0.1 are needed");
  EXPECT_EQ(refusal(wav(192'000, 19'000)), "a sound of 0.0990 seconds: at least 0.1 are needed");
  EXPECT_EQ(refusal(flac(16'000, 1, 100)), "a sound of 0.0063 seconds: at least 0.1 are needed");
  EXPECT_EQ(refusal(flac(44'100, 1, 0)), "the FLAC file doesn't say how long it is: send a WAV file");
}

TEST(MediaHeaders, RefuseDamagedFiles) {
  EXPECT_EQ(refusal({}), "the data are no PNG, JPEG, GIF, WebP, WAV, MP3 or FLAC file");
  EXPECT_EQ(refusal(of("<html>no picture</html>")), "the data are no PNG, JPEG, GIF, WebP, WAV, MP3 or FLAC file");
  EXPECT_EQ(refusal(of("BM a bitmap, which isn't in the list")),
            "the data are no PNG, JPEG, GIF, WebP, WAV, MP3 or FLAC file");
  Bytes file = png(640, 480);
  file.resize(file.size() - 5);
  EXPECT_EQ(refusal(file), "the PNG file is damaged: it ends before its picture does");
  file.resize(20);
  EXPECT_EQ(refusal(file), "the PNG file is damaged: it ends inside of its header");
  file = jpeg(640, 480);
  file.resize(file.size() - 2);
  EXPECT_EQ(refusal(file), "the JPEG file is damaged: it ends before its picture does");
  file.resize(8);
  EXPECT_EQ(refusal(file), "the JPEG file is damaged: it ends inside of its header");
  EXPECT_EQ(refusal(jpeg(640, 480, 1, 0xC9)),
            "the JPEG file is of a rare kind: only baseline and progressive ones are known");
  file = lossy_webp(640, 480);
  file.resize(file.size() - 1);
  EXPECT_EQ(refusal(file), "the WebP file is damaged: it ends before its picture does");
  EXPECT_EQ(refusal(webp("VP8X", Bytes{2, 0, 0, 0} + Bytes(6))),
            "the WebP file is an animation: send one picture of it");
  EXPECT_EQ(refusal(of("RIFF") + little(4, 4) + of("WAVE")), "the WAV file is damaged: it has no samples");
  EXPECT_EQ(refusal(wav(16'000, 0)), "the sound has no samples");
  EXPECT_EQ(refusal(wav(16'000, 100, 0, 2, 4)),
            "the WAV file has samples of format 2 with 4 bits: integers of 8 to 32 bits, floats, A-law and mu-law are "
            "known");
  EXPECT_EQ(refusal(of("ID3\x04") + Bytes(6) + of("fLaC") + Bytes(100)), "the MP3 file is damaged: it has no frames");
  EXPECT_EQ(refusal(mp3(2) + Bytes(200'000, 7)), "the MP3 file is damaged: most of it are no frames");
}

// Every prefix of a file is refused or has the size of the whole.
TEST(MediaHeaders, APrefixIsNeverAnotherPicture) {
  for (const Bytes& file : {png(640, 480), jpeg(640, 480, 3), gif(640, 480), lossy_webp(640, 480), wav(16'000, 50),
                            flac(44'100, 2, 1000), mp3(3)}) {
    for (std::size_t length = 0; length < file.size(); ++length) {
      const auto header = read_media_header(MediaBytes(file).first(length));
      if (!header) continue;
      const bool whole = is_sound(header->format) || (header->width == 640 && header->height == 480);
      EXPECT_TRUE(whole) << length;
    }
  }
}

Bytes compressed(std::size_t zeros) {
  const Bytes plain(zeros);
  Bytes out(compressBound(zeros));
  uLongf size = out.size();
  EXPECT_EQ(compress2(out.data(), &size, plain.data(), plain.size(), 9), Z_OK);
  out.resize(size);
  return out;
}

TEST(PngData, MoreThanThePixelsAreRefused) {
  const Bytes bomb = compressed(100 << 20);
  EXPECT_EQ(refusal(png(8, 8, bomb)), "the PNG file is damaged: its data are more than the 200 bytes of 8 x 8 pixels");
  // As many as its pixels have: 5000 x (1 + 3 x 5000) bytes and some more.
  EXPECT_EQ(refusal(png(5000, 5000, compressed(5000 * 15'001))), "accepted");
  Bytes broken = bomb;
  broken[100] ^= 0xFF;
  broken.resize(80'000, 0xAA);
  EXPECT_NE(refusal(png(8, 8, broken)), "accepted");
}

// Data that are harmless as one kind of stream, and a bomb as the other.
TEST(PngData, OfTheKindForIPhonesAreRefused) {
  Bytes file = png(8, 8);
  const Bytes chunk = big(4, 4) + of("CgBI") + Bytes(8);
  file.insert(file.begin() + 33, chunk.begin(), chunk.end());
  EXPECT_EQ(refusal(file), "the PNG file is of a kind for iPhones only: save it as PNG again");
}

TEST(PlainSound, HasNothingButHeaderAndSamples) {
  // The header claims 4 GB: what is there counts.
  const Bytes file = wav(16'000, 2'000, 0xFFFFFFFF);
  const auto header = read_media_header(file);
  ASSERT_TRUE(header);
  EXPECT_DOUBLE_EQ(header->seconds, 2'000.0 / 16'000);
  EXPECT_EQ(plain_sound(file, MediaFormat::wav), wav(16'000, 2'000));
  EXPECT_EQ(plain_sound(wav(16'000, 100) + of("LIST and other things"), MediaFormat::wav), wav(16'000, 100));
  // A tag before an MP3 may hide another file.
  EXPECT_EQ(plain_sound(of("ID3\x04") + Bytes(3) + Bytes{0, 0, 4} + of("fLaC") + mp3(3), MediaFormat::mp3), mp3(3));
}

}  // namespace
}  // namespace corral::engine
