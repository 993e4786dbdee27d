// Joining beside serving: what `corral serve --join` asks for. The server answers for its own models meanwhile, however
// long it takes and however it ends.
#pragma once

#include <string>

#include "async/timer.h"
#include "fleet/node/node.h"

namespace corral::fleet {

// The token itself, or the text of the file that is called so. Errors: the system's own; those of mesh::parse_token,
// none of which holds the text.
Result<mesh::JoinToken> read_token(const std::string& token_or_file);

// Whether another try with the same token may go better.
bool worth_another_try(const Error& error);

// Tries until the node is a member, or can't become one with this token; what it comes to is in the log. A node that is
// a member already needs no token, and one that was used doesn't matter then.
async::Task<void> keep_joining(Node& node, async::Timers& timers, std::string token_or_file);

}  // namespace corral::fleet
