// Bodies and answers of the requests of `bench`. Pure; errors of the parsers: bad_answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::cli {

std::string tokenize_body(const std::string& model, const std::string& text);
Result<std::vector<std::int64_t>> parse_tokens(std::string_view text);

// A completion of exactly this many tokens, without a cached prefix.
std::string bench_body(const std::string& model, std::span<const std::int64_t> prompt, int tokens);

// The engine's own numbers.
struct BenchTimings {
  double prompt_tokens = 0, prompt_per_second = 0;
  double tokens = 0, tokens_per_second = 0;
};
Result<BenchTimings> parse_timings(std::string_view text);

}  // namespace corral::cli
