// Models as Anthropic's clients list them: those that take part in conversations.
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
  std::uint64_t context = 0;  // tokens; 0: nobody knows
};

// One, as GET models/{id} answers.
std::string anthropic_model(const AnthropicModel& model);

// A page of the list. `query`: limit (1 to 1,000, all that is taken if it isn't said), after_id, before_id.
// Errors: protocol::errc::bad_value.
Result<std::string> anthropic_models(std::span<const AnthropicModel> all, std::string_view query);

}  // namespace corral::api
