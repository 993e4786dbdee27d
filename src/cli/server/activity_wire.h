// Parses the server's activity log into structs. Pure; errors of the parser: bad_answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::cli {

struct PastRequest {
  std::int64_t ended = 0;  // epoch ms
  std::string model = {}, key = {}, dialect = {}, client = {};
  std::int64_t status = 0;
  std::string code = {};  // "ok", or the code of the error
  std::string node = {};  // of a mesh, that ran it; empty: the server's own machine
  std::optional<std::int64_t> prompt_tokens = {}, output_tokens = {};
  std::optional<std::int64_t> first_token_ms = {}, duration_ms = {};
};

struct Activity {
  std::vector<PastRequest> requests = {};  // newest first
  std::optional<std::int64_t> next = {};   // more rows exist before this number
  std::int64_t lost = 0;                   // rows that the server couldn't store
};
Result<Activity> parse_activity(std::string_view text);

}  // namespace corral::cli
