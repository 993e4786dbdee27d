// Which requests belong to one conversation, so that they go to the host with its prefix in the KV cache: requests of
// one client that begin alike, up to the first user message. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace corral::fleet {

// The number of a canonical body's conversation; 0: it is no conversation. `client` separates clients. Reads at most 16
// KiB of the messages.
std::uint64_t conversation_of(std::string_view body, std::string_view client);
// The same for a session name of the client, of any length.
std::uint64_t session_number(std::string_view session, std::string_view client);

}  // namespace corral::fleet
