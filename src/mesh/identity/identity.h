// The node's key on disk. The file is the node's identity: no other user may read it, and an existing one is never
// replaced. Blocks for a few system calls; for start-up.
#pragma once

#include <filesystem>

#include "mesh/identity/keys.h"

namespace corral::mesh {

inline constexpr const char* kIdentityFile = "identity.pem";

// The key in the state folder; made there, with mode 0600, if there is none. Two processes that start at once get the
// same one. Errors: unusable_identity, and the system's own.
Result<SigningKey> open_identity(const std::filesystem::path& folder);

// A key that an administrator provides, for a service with a temporary state folder. Never makes one. Rejected if other
// users may read it or its group may write it. Errors: unusable_identity, and the system's own.
Result<SigningKey> read_identity_file(const std::filesystem::path& file);

}  // namespace corral::mesh
