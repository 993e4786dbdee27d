// The API that a path belongs to, which determines the form of its errors. One table; pure.
#pragma once

#include <array>
#include <string_view>

#include "protocol/http_error.h"

namespace corral::dialects {

// Core paths exist under each of these.
inline constexpr auto kCorePrefixes = std::to_array<std::string_view>({"/api/v1/", "/api/v0/", "/v1/", "/v0/"});

// Unknown paths have a style, too. `path` without query.
protocol::Style style_of_path(std::string_view path);

// A request with this header uses Anthropic's API, also on paths that OpenAI's API shares (models).
inline constexpr std::string_view kAnthropicVersion = "anthropic-version";
protocol::Style style_of(std::string_view path, bool has_anthropic_version);

}  // namespace corral::dialects
