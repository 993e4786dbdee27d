// Parts of the tables of endpoints. Internal to protocol/.
#pragma once

#include <algorithm>
#include <array>

#include "protocol/fields.h"

namespace corral::protocol {

inline constexpr double kMaxUint32 = 4294967295.0;
inline constexpr double kMaxInt32 = 2147483647.0;

// A model may be called by its place, which is a path, with a folder before it and a number behind it.
inline constexpr std::uint64_t kLongestModelName = 8192;
inline constexpr Field kModelField = {
    .name = "model",
    .kinds = kString,
    .min_size = 1,
    .max_bytes = kLongestModelName,
    .about =
        "which model answers; see `models`. Without it the only one of the type that is loaded, else the only one "
        "there is"};
inline constexpr Field kContextField = {
    .name = "ctx_size",
    .kinds = kInteger,
    .min = -1,
    .max = 1 << 26,
    .about =
        "tokens that the model's context must have at least: it is loaded so, or loaded anew "
        "if it has fewer; 0 or -1: whatever it has"};

// What every dialect calls by the same name.
inline constexpr Field kStreamField = {.name = "stream", .kinds = kBoolean, .about = "the answer comes in events"};
inline constexpr Field kTemperatureField = {
    .name = "temperature", .kinds = kNumber, .min = 0, .max = 2, .about = "0: always the likeliest token"};
inline constexpr Field kTopPField = {.name = "top_p",
                                     .kinds = kNumber,
                                     .min = 0,
                                     .max = 1,
                                     .about = "keeps the likeliest tokens that together have this probability; 1: all"};
inline constexpr Field kTopKField = {.name = "top_k",
                                     .kinds = kInteger,
                                     .min = -1,
                                     .max = kMaxInt32,
                                     .about = "keeps so many of the likeliest tokens; 0 or -1: all"};

template <std::size_t N, std::size_t M>
constexpr auto operator+(const std::array<Field, N>& a, const std::array<Field, M>& b) {
  std::array<Field, N + M> all{};
  std::ranges::copy(a, all.begin());
  std::ranges::copy(b, all.begin() + N);
  return all;
}

}  // namespace corral::protocol
