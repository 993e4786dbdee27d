// `corral serve --join`: joins while the server runs. The server serves its own models meanwhile, regardless of the
// join's duration and result.
#pragma once

#include <string>

#include "async/timer.h"
#include "fleet/node/node.h"

namespace corral::fleet {

// Takes the token itself, or the name of a file with its text. Errors: the system's own; those of mesh::parse_token,
// none of which contains the text.
Result<mesh::JoinToken> read_token(const std::string& token_or_file);

// Whether a retry with the same token may succeed.
bool worth_another_try(const Error& error);

// Retries until the node is a member, or can't become one with this token; logs the result. A node that is a member
// already needs no token, so a used token is no error then.
async::Task<void> keep_joining(Node& node, async::Timers& timers, std::string token_or_file);

}  // namespace corral::fleet
