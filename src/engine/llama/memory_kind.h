// What a model remembers of its tokens, and what can be done with it. Pure.
//
// Most models keep KV of every token in every layer. Models with sliding windows (Gemma, gpt-oss) have layers that look
// at the latest tokens only, and whose cells are used again once they are too old to be seen: what is computed at a
// place needs the window before it, so a sequence can be cut back to a place, or give another one its beginning up to
// there, only while that window's cells are still there. Recurrent models and hybrids keep a state, all tokens in one.
#pragma once

#include <cstdint>
#include <string_view>

namespace corral::engine {

enum class MemoryKind {
  plain,     // a cell of every token in every layer
  windowed,  // in some layers only of the latest tokens
  state,     // one state for all tokens, in some layers or in all; or parts that can't be cut at all
};

// What the rules need to know of a model.
struct MemoryFacts {
  bool state = false;                  // recurrent, or a hybrid
  std::uint32_t window = 0;            // tokens that a layer with a window sees, its own included; 0: none has one
  std::string_view architecture = {};  // as in the file
};
MemoryKind memory_kind(const MemoryFacts& facts);

struct MemoryRules {
  bool divisible;  // can be cut back and share a beginning; windowed: where the window is whole
  bool drafts;     // wrong guesses can be taken back: they are cut off in the pass they came with, so windows are whole
  bool many_ids;   // more sequences than may run at a time can have cells
  bool splits;     // can be laid out with a part for each sequence
  bool parks_whole;  // saved bytes can't be cut back to fewer tokens
};
constexpr MemoryRules rules_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::plain:
      return {.divisible = true, .drafts = true, .many_ids = true, .splits = true, .parks_whole = false};
    case MemoryKind::windowed:
      return {.divisible = true, .drafts = true, .many_ids = false, .splits = false, .parks_whole = true};
    case MemoryKind::state:
      break;
  }
  return {.divisible = false, .drafts = false, .many_ids = false, .splits = false, .parks_whole = true};
}

// The oldest place that is seen from place `next`.
std::uint32_t oldest_seen(std::uint32_t next, const MemoryFacts& facts);

// The cells of layers with a window: so many for all of `n_ctx`, or enough for the windows of all sequences and a pass.
// All of them where that takes hardly more: then old beginnings can be shared for longer.
struct WindowCells {
  std::uint32_t window = 0;
  std::uint32_t sequences = 1;
  std::uint32_t batch = 0;
  std::uint32_t n_ctx = 0;
};
bool keeps_all_cells(const WindowCells& cells);

}  // namespace corral::engine
