// What is decoded, in whatever pieces it comes, and what it may cost.
#include "http/content_decoder.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include <gtest/gtest.h>

#include "http/encoding_for_tests.h"
#include "http/errors.h"

namespace corral::http {
namespace {

using enum ContentCoding;
using Codings = std::vector<ContentCoding>;

constexpr std::uint64_t kEnough = 1ull << 30;

struct Decoded {
  std::string text;
  std::optional<Error> error = {};
  std::size_t steps = 0;
  std::uint64_t memory = 0;  // at most
};

// All of it; of the text only the first bytes.
Decoded decoded(std::string_view encoded, const Codings& codings, std::size_t piece = 1 << 20,
                std::uint64_t limit = kEnough) {
  ContentDecoder decoder(codings, {limit, "max_body_bytes"});
  Decoded all;
  while (true) {
    const auto step = decoder.step();
    ++all.steps;
    all.memory = std::max(all.memory, decoder.memory());
    if (!step) {
      all.error = step.error();
      return all;
    }
    EXPECT_LE(step->bytes.size(), ContentDecoder::kStep);
    EXPECT_FALSE(step->hungry && !step->bytes.empty());
    if (all.text.size() < (4 << 20)) all.text.append(step->bytes);
    if (!step->hungry) continue;
    if (encoded.empty()) break;
    decoder.feed(encoded.substr(0, piece));
    encoded.remove_prefix(std::min(piece, encoded.size()));
  }
  if (const auto whole = decoder.finish(); !whole) all.error = whole.error();
  return all;
}

std::string encoded(std::string_view text, const Codings& codings, int deflate_window = 15) {
  std::string bytes(text);
  for (const auto coding : codings) {
    if (coding == zstd)
      bytes = zstd_of(bytes);
    else
      bytes = deflated(bytes, coding == gzip ? 31 : deflate_window);
  }
  return bytes;
}

std::string some_text(std::size_t size) {
  std::string text;
  for (std::uint32_t i = 1; text.size() < size; i = i * 1664525 + 1013904223) text += std::to_string(i) + " word ";
  text.resize(size);
  return text;
}

TEST(ContentDecoder, EveryCodingIsDecodedInWhateverPiecesItComes) {
  const auto text = some_text(100'000);
  for (const Codings& codings : {Codings{gzip}, Codings{deflate}, Codings{zstd}, Codings{gzip, gzip},
                                 Codings{zstd, gzip}, Codings{gzip, zstd}, Codings{deflate, zstd, gzip}}) {
    for (const std::size_t piece : {1u, 7u, 4096u, 1u << 20}) {
      const auto all = decoded(encoded(text, codings), codings, piece);
      EXPECT_FALSE(all.error) << all.error->message;
      EXPECT_TRUE(all.text == text) << codings.size() << " " << piece;
    }
  }
}

TEST(ContentDecoder, DeflateIsWithAndWithoutTheHeaderOfZlib) {
  for (const auto& text : {std::string(), std::string("x"), some_text(100), std::string(100'000, 'x')}) {
    for (const int window : {15, 9, -15, -9}) {
      for (const std::size_t piece : {1u, 1u << 20}) {
        const auto all = decoded(encoded(text, {deflate}, window), {deflate}, piece);
        EXPECT_FALSE(all.error) << all.error->message;
        EXPECT_EQ(all.text, text) << window;
      }
    }
  }
}

TEST(ContentDecoder, FilesThatFollowEachOtherAreOne) {
  for (const std::size_t piece : {1u, 1u << 20}) {
    EXPECT_EQ(decoded(gzipped("one ") + gzipped("") + gzipped("two"), {gzip}, piece).text, "one two");
    EXPECT_EQ(decoded(zstd_of("one ") + zstd_of("") + zstd_of("two"), {zstd}, piece).text, "one two");
  }
}

TEST(ContentDecoder, ABodyWithoutAByteIsEmpty) {
  const auto all = decoded("", {gzip});
  EXPECT_FALSE(all.error);
  EXPECT_EQ(all.text, "");
}

TEST(ContentDecoder, WhatBreaksOffIsNotWhole) {
  const auto text = some_text(100'000);
  for (const Codings& codings : {Codings{gzip}, Codings{deflate}, Codings{zstd}, Codings{gzip, zstd}}) {
    const auto whole = encoded(text, codings);
    for (const std::size_t cut : {std::size_t(1), whole.size() / 2, whole.size() - 1}) {
      const auto all = decoded(std::string_view(whole).substr(0, cut), codings);
      ASSERT_TRUE(all.error) << cut;
      EXPECT_EQ(all.error->code, errc::truncated);
      EXPECT_EQ(all.error->message, "the body ended before the end of its encoded data: send all of it");
    }
  }
}

TEST(ContentDecoder, WhatIsNotWhatItSaysIsRefused) {
  const std::string names = " that its Content-Encoding names: ";
  const std::tuple<std::string, Codings, std::string> rows[] = {
      {R"({"model":"m"})", {gzip}, "the body is not the gzip" + names + "incorrect header check"},
      {"\xff\xff\xff", {deflate}, "the body is not the deflate" + names + "invalid block type"},
      {R"({"model":"m"})", {zstd}, "the body is not the zstd" + names + "Unknown frame descriptor"},
      {deflated("x", 15) + "y", {deflate}, "the body is not the deflate" + names + "bytes follow its end"},
      {gzipped("x") + "yy", {gzip}, "the body is not the gzip" + names + "incorrect header check"},
      {zstd_of(std::string(100'000, 'x'), 24),
       {zstd},
       "the body is not the zstd" + names + "its window is larger than 8 MiB; compress it with a lower level"},
  };
  for (const auto& [bytes, codings, message] : rows) {
    const auto all = decoded(bytes, codings);
    ASSERT_TRUE(all.error) << message;
    EXPECT_EQ(all.error->code, errc::bad_encoding);
    EXPECT_EQ(all.error->param, "Content-Encoding");
    EXPECT_EQ(all.error->message, message);
  }
}

TEST(ContentDecoder, BytesThatWereDecodedCountAgainstTheLimit) {
  for (const Codings& codings : {Codings{gzip}, Codings{deflate}, Codings{zstd}}) {
    EXPECT_FALSE(decoded(encoded(std::string(1'000'000, 'x'), codings), codings, 1 << 20, 1'000'000).error);
    const auto bomb = decoded(encoded(std::string(20'000'000, 'x'), codings), codings, 1 << 20, 1'000'000);
    ASSERT_TRUE(bomb.error);
    EXPECT_EQ(bomb.error->code, errc::too_large);
    EXPECT_EQ(bomb.error->message,
              "the decoded body has more than 1000000 bytes; send less, or raise "
              "max_body_bytes");
    EXPECT_LT(bomb.steps, 40u) << "it ends where the limit is";
    EXPECT_LT(bomb.memory, 10u << 20);
  }
}

// 20 MB that decode to nothing, since they are frames to skip; a few bytes as they are sent.
TEST(ContentDecoder, BytesBetweenTwoCodingsCountToo) {
  std::string frame("\x50\x2a\x4d\x18\x00\x00\x10\x00", 8);
  frame.append(1 << 20, '\0');
  std::string nothing;
  for (int i = 0; i < 20; ++i) nothing += frame;
  const auto bomb = decoded(gzipped(nothing), {zstd, gzip}, 1 << 20, 1'000'000);
  ASSERT_TRUE(bomb.error);
  EXPECT_EQ(bomb.error->code, errc::too_large);
  EXPECT_LT(bomb.steps, 40u);
  // As many as it likes to send itself.
  EXPECT_FALSE(decoded(frame + frame, {zstd}, 4096, 1'000'000).error);
  EXPECT_EQ(decoded(encoded("x", {gzip, gzip, gzip}), {gzip, gzip, gzip}, 1, 1000).text, "x");
}

}  // namespace
}  // namespace corral::http
