// Scales of a load's LoRA adapters. Internal to engine_server/.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"
#include "engine/values/types.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// One scale per adapter of the load; adapters that `given` does not list get 0. Errors: bad_value, of the field
// `param`.
Result<engine::AdapterScales> adapter_scales(const engine::ModelFacts& facts, std::span<const protocol::Adapter> given,
                                             std::string_view param);

}  // namespace corral::engine_server
