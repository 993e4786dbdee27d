// Errors of requests before a model gets them, and errors of other servers.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace corral::protocol {

enum class errc {
  missing_field = 1,        // a required field is missing
  wrong_type,               // a field has a wrong JSON type
  bad_value,                // right type, but an invalid value
  unsupported_value,        // valid elsewhere, but unsupported here
  context_length_exceeded,  // prompt and answer exceed the model's context
  wrong_model_type,         // the model has another type than the endpoint needs
  unknown_path,             // 404 for a path, not for a model
  method_not_allowed,       // 405
  // Errors of another server with an unknown code; one per kind.
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

// Numbers of tokens for context_length_exceeded. They are members of the error's body next to `message`, as in
// llama-server.
struct ContextNumbers {
  std::uint64_t n_prompt_tokens = 0;
  std::uint64_t n_ctx = 0;  // the actual context
};
Error context_exceeded(ContextNumbers numbers, std::string message, std::string param);

}  // namespace corral::protocol

CORRAL_DECLARE_ERRC(corral::protocol);
