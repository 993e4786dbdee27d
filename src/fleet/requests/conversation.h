// Which requests belong to one conversation, so that they go to the host that has its beginning in its cache: those of
// one client that begin alike, up to the first thing that a user said. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace corral::fleet {

// Of a canonical body; 0: it is no conversation. `client` tells clients apart. Looks at 16 KiB at most of what was
// said.
std::uint64_t conversation_of(std::string_view body, std::string_view client);
// The same of a session that the client has named, however long its name is.
std::uint64_t session_number(std::string_view session, std::string_view client);

}  // namespace corral::fleet
