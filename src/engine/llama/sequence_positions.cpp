#include "engine/llama/sequence_positions.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace corral::engine {
namespace {

// What is saved: three numbers for each part (begin, cells, positions), then these three numbers.
struct Tail {
  std::uint32_t length, parts, mark;
};
constexpr std::uint32_t kMark = 0x534f5043;  // no older saved bytes end with it
using Saved = std::array<std::uint32_t, 3>;

template <typename Value>
void append(std::vector<std::uint8_t>& to, const Value& value) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(value));
}

// Requires that many bytes.
template <typename Value>
Value take_last(std::span<const std::uint8_t>& from) {
  Value value;
  std::memcpy(&value, from.last(sizeof(value)).data(), sizeof(value));
  from = from.first(from.size() - sizeof(value));
  return value;
}

}  // namespace

// The last part that begins before it.
const SequencePositions::Part* SequencePositions::part_before(std::uint32_t index) const {
  const auto found = std::ranges::lower_bound(parts_, index, {}, &Part::begin);
  return found == parts_.begin() ? nullptr : &*std::prev(found);
}

std::uint32_t SequencePositions::position(std::uint32_t index) const {
  const Part* const part = part_before(index);
  return part == nullptr ? index : part->position + part->positions + (index - part->begin - part->cells);
}

bool SequencePositions::ends_inside(std::uint32_t length) const {
  const Part* const part = part_before(length);
  return part != nullptr && length < part->begin + part->cells;
}

void SequencePositions::add_part(std::uint32_t begin, std::uint32_t cells, std::uint32_t positions) {
  parts_.push_back({.begin = begin, .cells = cells, .position = position(begin), .positions = positions});
}

void SequencePositions::begin_piece(const MediaPiece& piece) { add_part(length_, piece.cells, piece.positions()); }

void SequencePositions::cut(std::uint32_t length) {
  length_ = std::min(length_, length);
  std::erase_if(parts_, [&](const Part& part) { return part.begin >= length_; });
}

void SequencePositions::append_to(std::vector<std::uint8_t>& saved) const {
  saved.reserve(saved.size() + parts_.size() * sizeof(Saved) + sizeof(Tail));
  for (const Part& part : parts_) append(saved, Saved{part.begin, part.cells, part.positions});
  append(saved, Tail{.length = length_, .parts = static_cast<std::uint32_t>(parts_.size()), .mark = kMark});
}

std::optional<SequencePositions> SequencePositions::take_from(std::span<const std::uint8_t>& saved) {
  auto rest = saved;
  if (rest.size() < sizeof(Tail)) return std::nullopt;
  const auto tail = take_last<Tail>(rest);
  if (tail.mark != kMark || rest.size() / sizeof(Saved) < tail.parts) return std::nullopt;
  auto parts = rest.last(tail.parts * sizeof(Saved));
  rest = rest.first(rest.size() - parts.size());

  SequencePositions positions;
  std::uint64_t end = 0;
  for (; !parts.empty(); parts = parts.subspan(sizeof(Saved))) {
    auto first = parts.first(sizeof(Saved));
    const auto [begin, cells, count] = take_last<Saved>(first);
    if (begin < end || begin >= tail.length || count == 0 || count > cells) return std::nullopt;
    positions.add_part(begin, cells, count);
    end = std::uint64_t{begin} + cells;
  }
  positions.length_ = tail.length;
  saved = rest;
  return positions;
}

}  // namespace corral::engine
