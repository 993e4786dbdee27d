// Pictures and sounds in the history of a session. Each of their KV cells has a pseudo token there, derived from the
// hash of the file: equal pictures have equal tokens, so that prefixes, parked KV and their index work as for text. A
// pseudo token is no token of any vocabulary and is never computed: its cell is computed from an embedding.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sha256.h"
#include "engine/values/types.h"

namespace corral::engine {

// The position of a cell, for models that rotate positions in several dimensions (M-RoPE): time, row, column, and one
// of the model's own.
using CellPosition = std::array<std::uint32_t, 4>;

// Memory of a piece in bytes.
struct MediaSize {
  std::uint64_t input = 0;      // of the pixels or samples, as long as the piece lives
  std::uint64_t embedding = 0;  // of its rows
};

// A part of a picture or sound that is encoded as a whole. Immutable; the encoder adds what it needs.
struct MediaPiece {
  MediaPiece(Sha256 hash, std::uint32_t cell_count, bool in_one_pass)
      : id(hash), cells(cell_count), both_ways(in_one_pass) {}
  virtual ~MediaPiece() = default;
  MediaPiece(const MediaPiece&) = delete;
  MediaPiece& operator=(const MediaPiece&) = delete;

  // With M-RoPE: how far it moves the position of the next token, at least 1 and at most `cells`; and the position of a
  // cell, if that of the first one is `begin`. The defaults are for pieces whose cells follow each other as tokens do.
  virtual std::uint32_t positions() const { return cells; }
  virtual CellPosition position(std::uint32_t cell, std::uint32_t begin) const {
    return {begin + cell, begin + cell, begin + cell, begin + cell};
  }

  virtual MediaSize size() const { return {}; }

  const Sha256 id;            // of the file, the place in it and the projector
  const std::uint32_t cells;  // at least 1
  const bool both_ways;       // its cells see each other in both directions, so they are computed in one pass
};

// The embeddings of a piece: the same number of values for each cell.
using MediaRows = std::shared_ptr<const std::vector<float>>;

// A piece in a history.
struct MediaSpan {
  std::uint32_t begin = 0;
  std::shared_ptr<const MediaPiece> piece;
  MediaRows rows = {};  // needed until its cells are computed

  std::uint32_t end() const { return begin + piece->cells; }
};

inline bool is_media(Token token) { return token < kNoToken; }
// The pseudo tokens of its cells.
void append_media_tokens(const MediaPiece& piece, std::vector<Token>& to);

// --- Spans of a history, in order ---
//
// The first one that ends behind `position`; spans.size(): none.
std::size_t span_behind(std::span<const MediaSpan> spans, std::uint32_t position);
// Memory that a session with them may take: all inputs, and the embeddings of two, because it orders one ahead.
std::uint64_t memory_of(std::span<const MediaSpan> spans);
// The longest beginning of at most `length` tokens that ends inside of no span.
std::uint32_t outside_media(std::span<const MediaSpan> spans, std::uint32_t length);

// Encodes pieces on a thread of its own, one at a time, and caches embeddings. Safe on every thread.
class MediaEncoder {
 public:
  virtual ~MediaEncoder() = default;
  struct Found {
    MediaRows rows = {};
    std::optional<Error> failure = {};  // once; a further call encodes it again
  };
  // Neither rows nor a failure: the piece is being encoded, or waits for that. It is dropped if nothing holds it.
  virtual Found find(const std::shared_ptr<const MediaPiece>& piece) = 0;
  // Called after each piece, also a failed one, on any thread; it must not block, throw or call the encoder.
  virtual void when_encoded(std::move_only_function<void()> call) = 0;
};

}  // namespace corral::engine
