#include "engine/kv/media_span.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

std::shared_ptr<const MediaPiece> piece(std::string_view content, std::uint32_t cells) {
  return std::make_shared<MediaPiece>(sha256({content}), cells, false);
}
std::vector<Token> pseudo_tokens_of(const MediaPiece& piece) {
  std::vector<Token> tokens;
  append_media_tokens(piece, tokens);
  return tokens;
}

TEST(MediaTokens, AreThoseOfTheContentAndOfNoVocabulary) {
  const auto tokens = pseudo_tokens_of(*piece("a picture", 300));
  ASSERT_EQ(tokens.size(), 300u);
  EXPECT_TRUE(std::ranges::all_of(tokens, is_media));
  EXPECT_FALSE(is_media(0));
  EXPECT_FALSE(is_media(kNoToken));
  EXPECT_EQ(tokens, pseudo_tokens_of(*piece("a picture", 300)));
  // Cells at different places have different ones.
  EXPECT_GT(std::set(tokens.begin(), tokens.end()).size(), 298u);
  const auto other = pseudo_tokens_of(*piece("a picturf", 300));
  EXPECT_NE(tokens.front(), other.front());
  // A piece with fewer cells begins in the same way.
  EXPECT_TRUE(std::ranges::equal(pseudo_tokens_of(*piece("a picture", 7)), std::span(tokens).first(7)));
}

TEST(MediaSpans, MemoryIsThatOfAllInputsAndOfTwoEmbeddings) {
  struct Large final : MediaPiece {
    explicit Large(MediaSize of) : MediaPiece({}, 1, false), bytes(of) {}
    MediaSize size() const override { return bytes; }
    const MediaSize bytes;
  };
  std::vector<MediaSpan> spans;
  EXPECT_EQ(memory_of(spans), 0u);
  spans.push_back({.piece = std::make_shared<Large>(MediaSize{100, 7})});
  EXPECT_EQ(memory_of(spans), 107u);
  spans.push_back({.piece = std::make_shared<Large>(MediaSize{50, 9})});
  spans.push_back({.piece = std::make_shared<Large>(MediaSize{1, 2})});
  EXPECT_EQ(memory_of(spans), 151u + 18u);
}

TEST(MediaSpans, NoBeginningEndsInsideOfOne) {
  const std::vector<MediaSpan> spans = {{.begin = 5, .piece = piece("a", 10)},
                                        {.begin = 15, .piece = piece("b", 1)},
                                        {.begin = 20, .piece = piece("c", 4)}};
  EXPECT_EQ(span_behind(spans, 0), 0u);
  EXPECT_EQ(span_behind(spans, 14), 0u);
  EXPECT_EQ(span_behind(spans, 15), 1u);
  EXPECT_EQ(span_behind(spans, 16), 2u);
  EXPECT_EQ(span_behind(spans, 24), 3u);
  for (const auto& [length, outside] : {std::pair{0u, 0u},
                                        {5u, 5u},
                                        {6u, 5u},
                                        {14u, 5u},
                                        {15u, 15u},
                                        {16u, 16u},
                                        {20u, 20u},
                                        {23u, 20u},
                                        {24u, 24u},
                                        {99u, 99u}})
    EXPECT_EQ(outside_media(spans, length), outside) << length;
  EXPECT_EQ(outside_media({}, 7), 7u);
}

}  // namespace
}  // namespace corral::engine
