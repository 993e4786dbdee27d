// What can be wrong with a request before any model sees it, and what another server said.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace corral::protocol {

enum class errc {
  missing_field = 1,        // a field that must be there is not
  wrong_type,               // a field has another JSON type than it may have
  bad_value,                // right type, but not a value that makes sense
  unsupported_value,        // makes sense elsewhere, but not here (yet)
  context_length_exceeded,  // prompt and answer don't fit the model's context
  wrong_model_type,         // the model is of another kind than the endpoint needs
  unknown_path,             // 404 for a path, not for a model
  method_not_allowed,       // 405
  // What another server answered, when its code is none of ours; one per kind.
  remote_internal,
  remote_invalid_request,
  remote_unauthorized,
  remote_forbidden,
  remote_not_found,
  remote_conflict,
  remote_too_large,
  remote_unprocessable,
  remote_rate_limited,
  remote_unavailable,
  remote_upstream,
  remote_timeout,
  remote_cancelled,
};

// Of context_length_exceeded: tokens. They stand beside `message` in the error's body, as llama-server has them.
struct ContextNumbers {
  std::uint64_t n_prompt_tokens = 0;
  std::uint64_t n_ctx = 0;  // the context there is
};
Error context_exceeded(ContextNumbers numbers, std::string message, std::string param);

}  // namespace corral::protocol

CORRAL_DECLARE_ERRC(corral::protocol);
