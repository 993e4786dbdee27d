// Keys of a model's entry in `models.toml` that no descriptor has, and keys of llama-swap that have no effect here. A
// separate header, because toml++ is large.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "backends/external/known_backends.h"

namespace corral::backends {

// Reads one of them into `entry`. False: it is no such key. `where`: for messages. Errors: bad_descriptor.
Result<bool> read_model_key(ModelEntry& entry, std::string_view key, const toml::node& node, const std::string& where);

// Including those of descriptors.
bool is_model_key(std::string_view key);
std::vector<std::string_view> model_key_names();
bool is_filter_key(std::string_view key);

enum class KeyPlace : std::uint8_t { file, model };
// Why a key of llama-swap has no effect, and what to use instead. Empty: it is none of these.
std::string_view without_effect(std::string_view key, KeyPlace place);

}  // namespace corral::backends
