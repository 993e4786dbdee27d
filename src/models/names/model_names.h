// Converts file names to model names: shards, quantizations, and names that several files would have. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::models {

// Prefixes of other servers for the source of a model: not part of the name here.
inline constexpr std::array<std::string_view, 3> kNamePrefixes{"user.", "extra.", "builtin."};
// The name without one of them, if it has one and something is left.
std::string_view without_prefix(std::string_view name);

// "big-00002-of-00005" -> {"big", 2, 5}. Nothing for other stems.
struct ShardName {
  std::string_view set;
  std::uint64_t number = 0;  // from 1
  std::uint64_t count = 0;
};
std::optional<ShardName> parse_shard(std::string_view stem);
// The reverse: "big-00002-of-00005".
std::string shard_stem(std::string_view set, std::uint64_t number, std::uint64_t count);

// "Qwen3-0.6B-UD-Q4_K_XL" -> {"Qwen3-0.6B", "UD-Q4_K_XL"}; without one the quantisation is empty.
struct QuantisedName {
  std::string_view base;
  std::string_view quantisation;
};
QuantisedName split_quantisation(std::string_view stem);

// Candidate names of one model, the shortest first. It gets the first that is unique.
struct WantedNames {
  std::string brief;      // "tiny-llama", "org/repo:Q8_0"
  std::string exact;      // "chat/tiny-llama", "org/repo:file-stem"
  std::string explicit_;  // "models/chat/tiny-llama"
  // When the file came, if no later file may change the model's name: it takes the brief name only if that is free.
  std::optional<std::int64_t> since = {};
};

// One name per model, all different, in the same order. A brief name that only one model has is used; if several have
// it, all of them get the exact one; if that is taken, the explicit one, then a number. Models with `since` come last,
// the oldest first, and skip the exact name.
std::vector<std::string> assign_names(const std::vector<WantedNames>& wanted);

}  // namespace corral::models
