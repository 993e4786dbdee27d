// Metrics of each model since the start of the router. Plain values, on the home loop.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "base/histogram.h"
#include "residency/types.h"
#include "router/base/request_table.h"

namespace corral::router {

// Seconds, from a request whose model is ready to a load from a slow disk.
inline constexpr std::array kWaitBounds = {0.001, 0.005, 0.01, 0.05, 0.1,  0.25,  0.5,  1.0,
                                           2.5,   5.0,   10.0, 30.0, 60.0, 120.0, 300.0};
inline constexpr std::array kRateBounds = {1.0,  2.0,   5.0,   10.0,  20.0,  30.0,   50.0,
                                           75.0, 100.0, 150.0, 200.0, 500.0, 1000.0, 2000.0};

enum class LoadOutcome : std::uint8_t { loaded, failed, aborted };
inline constexpr std::size_t kLoadOutcomeCount = 3;
const char* name_of(LoadOutcome outcome);

inline constexpr std::size_t kStopReasonCount = static_cast<std::size_t>(residency::StopReason::shutdown) + 1;

struct ModelMetrics {
  ModelType type = ModelType::llm;
  std::array<std::uint64_t, kOutcomeCount> requests{};
  std::uint64_t input_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of the input, not computed again
  std::uint64_t output_tokens = 0;
  std::array<std::uint64_t, kLoadOutcomeCount> loads{};
  std::array<std::uint64_t, kStopReasonCount> stops{};  // stopped, by reason
  std::uint64_t crashes = 0;                            // ended unexpectedly
  std::uint64_t quarantined = 0;                        // requests that were rejected because they had ended processes

  Histogram first_token_seconds{kWaitBounds};
  Histogram tokens_per_second{kRateBounds};
  Histogram queue_seconds{kWaitBounds};  // from the arrival of a request until its model is ready
  Histogram load_seconds{kWaitBounds};   // of loads that succeeded
};

using Metrics = std::map<ModelName, ModelMetrics>;

}  // namespace corral::router
