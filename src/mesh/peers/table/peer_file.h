// Known peers, kept on disk: their addresses, and their epochs, which they may have forgotten themselves. A plain
// value.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "mesh/identity/address.h"
#include "mesh/identity/epoch.h"

namespace corral::mesh {

inline constexpr const char* kPeersFile = "peers";

struct KnownPeer {
  PublicKey key;
  std::optional<EpochClaim> claim;
  std::vector<Address> addresses;  // the best first, 16 at most
  friend bool operator==(const KnownPeer&, const KnownPeer&) = default;
};

std::string encode(const std::vector<KnownPeer>& peers);
// Errors: malformed, unsupported_version, too_many.
Result<std::vector<KnownPeer>> decode_peers(std::string_view bytes);

// Empty if there is no file, or an unreadable one, which is renamed: peers are found again.
std::vector<KnownPeer> read_peers(const std::filesystem::path& folder);

}  // namespace corral::mesh
