#include "engine/llama/sequence_positions.h"

#include <string_view>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

struct Picture final : MediaPiece {
  Picture(std::uint32_t width, std::uint32_t height)
      : MediaPiece(sha256({std::string_view("a picture")}), width * height, false), longer(std::max(width, height)) {}
  std::uint32_t positions() const override { return longer; }
  const std::uint32_t longer;
};

void add_picture(SequencePositions& to, std::uint32_t width, std::uint32_t height) {
  const Picture picture(width, height);
  to.begin_piece(picture);
  to.add(picture.cells);
}

// 5 tokens, a picture of 4 x 3, 2 tokens, two pictures of 2 x 6 and 3 x 3, a token.
SequencePositions mixed() {
  SequencePositions positions;
  positions.add(5);
  add_picture(positions, 4, 3);
  positions.add(2);
  add_picture(positions, 2, 6);
  add_picture(positions, 3, 3);
  positions.add(1);
  return positions;
}

TEST(SequencePositions, AreIndexesWithoutPictures) {
  SequencePositions positions;
  EXPECT_EQ(positions.position(0), 0u);
  positions.add(7);
  EXPECT_EQ(positions.length(), 7u);
  EXPECT_EQ(positions.position(7), 7u);
  EXPECT_FALSE(positions.ends_inside(3));
}

TEST(SequencePositions, APictureTakesItsLongerSide) {
  const SequencePositions positions = mixed();
  EXPECT_EQ(positions.length(), 41u);
  for (const auto& [index, position] : {std::pair{0u, 0u},
                                        {4u, 4u},
                                        {5u, 5u},   // the first picture
                                        {17u, 9u},  // the token behind it
                                        {18u, 10u},
                                        {19u, 11u},  // the second one
                                        {31u, 17u},  // the third one
                                        {40u, 20u},
                                        {41u, 21u}})  // the next token
    EXPECT_EQ(positions.position(index), position) << index;
}

TEST(SequencePositions, NoneIsCutInsideOfAPicture) {
  SequencePositions positions = mixed();
  for (const std::uint32_t inside : {6u, 16u, 20u, 30u, 32u, 39u}) EXPECT_TRUE(positions.ends_inside(inside)) << inside;
  for (const std::uint32_t between : {0u, 5u, 17u, 18u, 19u, 31u, 40u, 41u})
    EXPECT_FALSE(positions.ends_inside(between)) << between;
  positions.cut(31);
  EXPECT_EQ(positions.length(), 31u);
  EXPECT_EQ(positions.position(31), 17u);
  positions.cut(99);
  EXPECT_EQ(positions.length(), 31u);
  positions.cut(5);
  EXPECT_EQ(positions.position(5), 5u);
  add_picture(positions, 2, 2);
  EXPECT_EQ(positions.position(9), 7u);
}

TEST(SequencePositions, APieceWithAPositionForEachCellIsLikeTokens) {
  SequencePositions positions;
  positions.add(3);
  positions.begin_piece(MediaPiece(sha256({std::string_view("a sound")}), 10, false));
  positions.add(10);
  EXPECT_EQ(positions.position(13), 13u);
  EXPECT_TRUE(positions.ends_inside(8));
}

TEST(SequencePositions, ComeBackFromSavedBytes) {
  SequencePositions unfinished;
  unfinished.add(2);
  unfinished.begin_piece(Picture(4, 4));
  unfinished.add(3);
  EXPECT_TRUE(unfinished.ends_inside(unfinished.length()));
  for (const SequencePositions& positions : {SequencePositions(), mixed(), unfinished}) {
    std::vector<std::uint8_t> bytes(10, 1);
    positions.append_to(bytes);
    std::span<const std::uint8_t> saved = bytes;
    EXPECT_EQ(SequencePositions::take_from(saved), positions);
    EXPECT_EQ(saved.size(), 10u);
  }
}

TEST(SequencePositions, InvalidBytesHaveNone) {
  std::vector<std::uint8_t> bytes;
  mixed().append_to(bytes);
  const auto is_read = [](std::span<const std::uint8_t> saved) {
    return SequencePositions::take_from(saved).has_value();
  };
  EXPECT_TRUE(is_read(bytes));
  EXPECT_FALSE(is_read({}));
  EXPECT_FALSE(is_read(std::vector<std::uint8_t>(100, 7)));
  for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
    EXPECT_FALSE(is_read(std::span(bytes).first(bytes.size() - cut))) << cut;
    EXPECT_FALSE(is_read(std::span(bytes).subspan(cut))) << cut;
  }
  // Each number of the parts: begin behind the end, no cells, more positions than cells.
  for (std::size_t at = 0; at < 36; at += 4) {
    auto damaged = bytes;
    const std::uint8_t value = at % 12 == 4 ? 0 : 200;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), 1, value);
    EXPECT_FALSE(is_read(damaged)) << at;
  }
}

}  // namespace
}  // namespace corral::engine
