#include "dialects/paths.h"

#include <array>

namespace corral::dialects {
namespace {

using protocol::Style;

constexpr auto kPaths = std::to_array<PathRow>({
    {"", Style::openai},
    {"/api", Style::ollama},
    {"/api/v0", Style::openai},
    {"/api/v1", Style::openai},
    {"/v1/messages", Style::anthropic},
});

bool is_below(std::string_view path, std::string_view row) {
  return path.starts_with(row) && (path.size() == row.size() || path[row.size()] == '/');
}

}  // namespace

std::span<const PathRow> path_table() { return kPaths; }

Style style_of_path(std::string_view path) {
  const PathRow* best = &kPaths.front();
  for (const auto& row : kPaths) {
    if (row.path.size() > best->path.size() && is_below(path, row.path)) best = &row;
  }
  return best->style;
}

}  // namespace corral::dialects
