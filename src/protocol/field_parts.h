// Parts of the tables of endpoints. Internal to protocol/.
#pragma once

#include <algorithm>
#include <array>

#include "protocol/fields.h"

namespace corral::protocol {

inline constexpr double kMaxUint32 = 4294967295.0;
inline constexpr double kMaxInt32 = 2147483647.0;

// The name of a model may be a path with a prefix and a number.
inline constexpr std::uint64_t kLongestModelName = 8192;
inline constexpr Field kModelField = {
    .name = "model",
    .kinds = kString,
    .min_size = 1,
    .max_bytes = kLongestModelName,
    .about = "the model; see `models`. Default: the only loaded model of the type, else the only one there is"};
inline constexpr Field kContextField = {
    .name = "ctx_size",
    .kinds = kInteger,
    .min = -1,
    .max = 1 << 26,
    .about = "minimum context of the model in tokens: a model with less is loaded again; 0 or -1: any context"};

// Fields with the same name in every dialect.
inline constexpr Field kStreamField = {
    .name = "stream", .kinds = kBoolean, .about = "return the response as a stream of events"};
inline constexpr Field kTemperatureField = {
    .name = "temperature", .kinds = kNumber, .min = 0, .max = 2, .about = "0: always the most likely token"};
inline constexpr Field kTopPField = {
    .name = "top_p",
    .kinds = kNumber,
    .min = 0,
    .max = 1,
    .about = "keep the most likely tokens that together have this probability; 1: all"};
inline constexpr Field kTopKField = {.name = "top_k",
                                     .kinds = kInteger,
                                     .min = -1,
                                     .max = kMaxInt32,
                                     .about = "keep that many of the most likely tokens; 0 or -1: all"};
inline constexpr Field kFrequencyPenaltyField = {.name = "frequency_penalty",
                                                 .kinds = kNumber,
                                                 .min = -2,
                                                 .max = 2,
                                                 .about = "penalty by the number of repetitions"};
inline constexpr Field kPresencePenaltyField = {.name = "presence_penalty",
                                                .kinds = kNumber,
                                                .min = -2,
                                                .max = 2,
                                                .about = "penalty of tokens that occurred at all"};

template <std::size_t N, std::size_t M>
constexpr auto operator+(const std::array<Field, N>& a, const std::array<Field, M>& b) {
  std::array<Field, N + M> all{};
  std::ranges::copy(a, all.begin());
  std::ranges::copy(b, all.begin() + N);
  return all;
}

}  // namespace corral::protocol
