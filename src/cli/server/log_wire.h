// Parses pieces of logs that the server sends. Pure; errors of the parser: bad_answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::cli {

struct LogPiece {
  std::string process;  // of a model: "engine-3"
  std::vector<std::string> lines;
  std::int64_t missed = 0;  // lines before these that the server no longer has
};
Result<LogPiece> parse_log_lines(std::string_view text);

// {"lines":[…]}, as in a stream.
std::string log_object(std::string_view text);

}  // namespace corral::cli
