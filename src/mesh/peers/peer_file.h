// What is known of peers, kept on disk: where they were, and their lives, which they may have forgotten themselves. A
// plain value.
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

// Nothing when there is no file, or none that can be read, which is put aside then: peers are found again.
std::vector<KnownPeer> read_peers(const std::filesystem::path& folder);

}  // namespace corral::mesh
