// Prompts around a gap that is to be filled, made as llama-server makes them. Internal to engine_server/.
#pragma once

#include <vector>

#include "base/error.h"
#include "engine_server/prompt_tokens.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// The gap's surroundings with the tokens that mark them. What has no end that is kept (a prefix, an extra piece) is cut
// at its beginning, a suffix at its end; where `gap.whole` nothing is cut.
// Errors: no_infill; those of tokenising; context_length_exceeded of one that is whole; remote_cancelled once `stop` is
// wanted.
Result<std::vector<engine::Token>> infill_tokens(const PromptTokens& tokens, const protocol::Infill& gap,
                                                 const CancelToken& stop);

}  // namespace corral::engine_server
