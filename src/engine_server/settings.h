// What a request came to, as llama-server tells it: "generation_settings". Internal to engine_server/.
#pragma once

#include <string>

#include "engine/options.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// JSON text. `n_ctx`: of the model.
std::string settings_text(const engine::GenerateOptions& options, const protocol::GenerationRequest& request,
                          std::uint32_t n_ctx);

}  // namespace corral::engine_server
