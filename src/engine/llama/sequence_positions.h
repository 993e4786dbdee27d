// Positions of a sequence's tokens, for models that rotate positions in several dimensions (M-RoPE). There a picture
// has more cells than positions, so that the position of a later token is below its index. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv/media_span.h"

namespace corral::engine {

class SequencePositions {
 public:
  // Tokens and cells of pictures.
  std::uint32_t length() const { return length_; }
  // The position of a token, or the first one of a picture.
  std::uint32_t position(std::uint32_t index) const;
  // Whether the first `length` cells end inside of a picture, where the sequence can't be cut.
  bool ends_inside(std::uint32_t length) const;

  // More cells are computed.
  void add(std::uint32_t cells) { length_ += cells; }
  // The next cell is the first one of this piece.
  void begin_piece(const MediaPiece& piece);
  // Keeps the first `length` cells, which end inside of no picture.
  void cut(std::uint32_t length);

  // Adds the positions to the end of saved cells, and takes them from there. None: there are none, or invalid ones.
  void append_to(std::vector<std::uint8_t>& saved) const;
  static std::optional<SequencePositions> take_from(std::span<const std::uint8_t>& saved);

  bool operator==(const SequencePositions&) const = default;

 private:
  // A piece.
  struct Part {
    std::uint32_t begin, cells;
    std::uint32_t position, positions;  // that of its first cell, and their number
    bool operator==(const Part&) const = default;
  };
  void add_part(std::uint32_t begin, std::uint32_t cells, std::uint32_t positions);
  const Part* part_before(std::uint32_t index) const;

  std::uint32_t length_ = 0;
  std::vector<Part> parts_;  // in order
};

}  // namespace corral::engine
