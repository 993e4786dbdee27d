// Kinds of model memory, and the operations that each kind supports. Pure.
//
// Most models keep KV of every token in every layer. Models with sliding windows (Gemma, gpt-oss) have layers that
// attend to the latest tokens only; libllama reuses the cells of older tokens. To compute at a position, the window
// before it is needed. So a sequence can be cut to a position, or share a prefix up to there, only while the cells of
// that window exist. Recurrent models and hybrids keep one state for all tokens.
#pragma once

#include <cstdint>
#include <string_view>

namespace corral::engine {

enum class MemoryKind {
  plain,     // a cell of every token in every layer
  windowed,  // in some layers, cells of the latest tokens only
  state,     // one state for all tokens, in some layers or in all; or parts that can't be cut at all
};

// What the rules need to know of a model.
struct MemoryFacts {
  bool state = false;                  // recurrent, or a hybrid
  std::uint32_t window = 0;            // tokens that a layer with a window sees, its own included; 0: no windows
  std::string_view architecture = {};  // as in the file
};
MemoryKind memory_kind(const MemoryFacts& facts);

struct MemoryRules {
  bool divisible;    // can be cut and can share prefixes; windowed: only while the window is whole
  bool drafts;       // rejected draft tokens can be removed: they are cut in the pass that added them, so windows are
                     // whole
  bool many_ids;     // more sequences can have cells than can be active
  bool splits;       // supports the split layout
  bool parks_whole;  // saved bytes can't be cut to fewer tokens
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

// The oldest position that position `next` attends to.
std::uint32_t oldest_seen(std::uint32_t next, const MemoryFacts& facts);

// Whether layers with a window have cells for all of `n_ctx`, or only for the windows of all sequences and a pass. All
// cells if that takes little more: then old prefixes can be shared for longer.
struct WindowCells {
  std::uint32_t window = 0;
  std::uint32_t sequences = 1;
  std::uint32_t batch = 0;
  std::uint32_t n_ctx = 0;
};
bool keeps_all_cells(const WindowCells& cells);

}  // namespace corral::engine
