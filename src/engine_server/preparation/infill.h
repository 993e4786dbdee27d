// Prompts for infill, built as in llama-server. Internal to engine_server/.
#pragma once

#include <vector>

#include "base/error.h"
#include "engine_server/preparation/prompt_tokens.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// Prefix and suffix of the gap with their marker tokens. Long prefixes and extra pieces lose their beginning, long
// suffixes their end; with `gap.whole` nothing is cut. Errors: no_infill; those of tokenizing; context_length_exceeded
// for a whole gap; remote_cancelled once `stop` is wanted.
Result<std::vector<engine::Token>> infill_tokens(const PromptTokens& tokens, const protocol::Infill& gap,
                                                 const CancelToken& stop);

}  // namespace corral::engine_server
