#include "models/gguf/gap_tokens.h"

#include <algorithm>
#include <array>

namespace corral::models {
namespace {

struct Row {
  std::string_view before, behind, inside;
};
constexpr auto kRows = std::to_array<Row>({
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
    {"<PRE>", "<SUF>", "<MID>"},
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},
    {"<|prefix|>", "<|suffix|>", "<|middle|>"},
});

static_assert(std::ranges::all_of(kRows, [](const Row& row) {
  return std::ranges::all_of(std::array{row.before, row.behind, row.inside}, [](std::string_view token) {
    return token.size() >= kShortestGapToken && token.size() <= kLongestGapToken;
  });
}));

}  // namespace

std::uint8_t gap_mark(std::string_view token) {
  for (const auto& row : kRows) {
    if (token == row.before) return 1;
    if (token == row.behind) return 2;
    if (token == row.inside) return 4;
  }
  return 0;
}

}  // namespace corral::models
