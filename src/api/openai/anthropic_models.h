// Lists of models for Anthropic's clients: models for conversations only.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace corral::api {

struct AnthropicModel {
  std::string id;
  WallTime created = {};
  std::uint64_t context = 0;  // tokens; 0: unknown
};

// One model, as the body of GET models/{id}.
std::string anthropic_model(const AnthropicModel& model);

// A page of the list. `query`: limit (1 to 1,000, which is the default), after_id, before_id. Errors:
// protocol::errc::bad_value.
Result<std::string> anthropic_models(std::span<const AnthropicModel> all, std::string_view query);

}  // namespace corral::api
