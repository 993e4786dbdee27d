#include "engine/kv/media_span.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace corral::engine {

void append_media_tokens(const MediaPiece& piece, std::vector<Token>& to) {
  constexpr std::uint32_t kEach = sizeof(Sha256) / sizeof(std::uint32_t);
  const std::string_view id(reinterpret_cast<const char*>(piece.id.data()), piece.id.size());
  for (std::uint32_t cell = 0; cell < piece.cells;) {
    std::array<char, 4> number{};
    for (std::size_t i = 0; i < number.size(); ++i) number[i] = static_cast<char>(cell >> (8 * i));
    const Sha256 block = sha256({id, std::string_view(number.data(), number.size())});
    for (std::uint32_t i = 0; i < kEach && cell < piece.cells; ++i, ++cell) {
      std::uint32_t value = 0;
      std::memcpy(&value, block.data() + sizeof(value) * i, sizeof(value));
      to.push_back(kNoToken - 1 - static_cast<Token>(value & 0x3FFFFFFF));
    }
  }
}

std::size_t span_behind(std::span<const MediaSpan> spans, std::uint32_t position) {
  const auto found = std::ranges::upper_bound(spans, position, {}, &MediaSpan::end);
  return static_cast<std::size_t>(found - spans.begin());
}

std::uint64_t memory_of(std::span<const MediaSpan> spans) {
  std::uint64_t inputs = 0, largest = 0;
  for (const MediaSpan& span : spans) {
    const MediaSize size = span.piece->size();
    inputs += size.input;
    largest = std::max(largest, size.embedding);
  }
  return inputs + largest * std::min<std::size_t>(spans.size(), 2);
}

std::uint32_t outside_media(std::span<const MediaSpan> spans, std::uint32_t length) {
  const std::size_t i = span_behind(spans, length);
  return i < spans.size() && spans[i].begin < length ? spans[i].begin : length;
}

}  // namespace corral::engine
