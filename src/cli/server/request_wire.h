// Parses the server's list of running requests into structs. Pure; errors of the parser: bad_answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::cli {

// Inference, or a load of a model.
struct ActiveRequest {
  std::string id, model;
  std::string key = {}, client = {};
  std::string status = {};  // "running", "queued"
  std::string node = {};    // of a mesh, that runs it; empty: the server's own machine
  bool is_load = false;
  std::int64_t age_ms = 0;
  std::optional<std::int64_t> output_tokens = {};  // of a stream so far
};
Result<std::vector<ActiveRequest>> parse_requests(std::string_view text);

}  // namespace corral::cli
