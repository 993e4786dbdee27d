// How file names become model names: shards, quantisations, and names that several files would like to have. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::models {

// What other servers put before the names of models, to say where they come from: no part of the name here.
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

// The names that one model would like, the shortest first. They get longer until they are its own.
struct WantedNames {
  std::string brief;      // "tiny-llama", "org/repo:Q8_0"
  std::string exact;      // "chat/tiny-llama", "org/repo:file-stem"
  std::string explicit_;  // "models/chat/tiny-llama"
  // When the file came, if no later file may change the model's name: it takes the brief name only if that is free.
  std::optional<std::int64_t> since = {};
};

// One name per model, all different, in the same order. A brief name that only one wants is given to it; where several
// want it, all of them take the exact one; what is still taken gets the explicit one, then a number. Models with
// `since` come behind all others, the oldest first, and skip the exact name.
std::vector<std::string> assign_names(const std::vector<WantedNames>& wanted);

}  // namespace corral::models
