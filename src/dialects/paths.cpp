#include "dialects/paths.h"

#include <algorithm>
#include <array>
#include <span>

namespace corral::dialects {
namespace {

using protocol::Style;

struct PathRow {
  std::string_view path;  // and all paths below it
  Style style;
};
// After a core prefix, and without one. All other paths are OpenAI's.
constexpr auto kCorePaths = std::to_array<PathRow>({{"messages", Style::anthropic}});
constexpr auto kPaths = std::to_array<PathRow>({
    {"/api/v0", Style::openai},
    {"/api/v1", Style::openai},
    {"/api", Style::ollama},
    {"/v2/rerank", Style::cohere},
});

Style first_of(std::span<const PathRow> rows, std::string_view path) {
  const auto row = std::ranges::find_if(rows, [&](const PathRow& known) {
    return path.starts_with(known.path) && (path.size() == known.path.size() || path[known.path.size()] == '/');
  });
  return row == rows.end() ? Style::openai : row->style;
}

}  // namespace

Style style_of_path(std::string_view path) {
  for (const auto prefix : kCorePrefixes) {
    if (path.starts_with(prefix)) return first_of(kCorePaths, path.substr(prefix.size()));
  }
  return first_of(kPaths, path);
}

Style style_of(std::string_view path, bool has_anthropic_version) {
  const auto style = style_of_path(path);
  return style == Style::openai && has_anthropic_version ? Style::anthropic : style;
}

}  // namespace corral::dialects
