// Which API a path belongs to, and so how its clients want to be told what is wrong. One table; pure.
#pragma once

#include <span>
#include <string_view>

#include "protocol/http_error.h"

namespace corral::dialects {

struct PathRow {
  std::string_view path;  // and all paths below it, unless a longer row knows better
  protocol::Style style;
};
std::span<const PathRow> path_table();

// Of paths that nobody knows, too. `path` without query.
protocol::Style style_of_path(std::string_view path);

}  // namespace corral::dialects
