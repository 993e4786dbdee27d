// The effective settings of a request, as in llama-server's "generation_settings". Internal to engine_server/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/values/options.h"
#include "engine/values/types.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// The settings as JSON text without the seed, in which the answers to one request differ. Immutable.
class SettingsText {
 public:
  // `n_ctx`, `end_tokens`: of the model. Ignores the seed of `options`.
  SettingsText(const engine::GenerateOptions& options, const protocol::GenerationRequest& request, std::uint32_t n_ctx,
               std::span<const engine::Token> end_tokens);

  // None: a random one.
  std::string with_seed(std::optional<std::uint32_t> seed) const;

 private:
  std::string before_, after_;  // text around the seed
};

}  // namespace corral::engine_server
