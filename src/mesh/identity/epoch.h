// The epoch of a node: the count of its starts, kept in its state folder. Announcements of a later epoch replace those
// of an earlier one. A node that lost the count, but not its key, learns it from its own signatures, which peers still
// hold. Pure except count_boot() and keep_epoch().
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "mesh/identity/keys.h"

namespace corral::mesh {

// One start of a node. The nonce distinguishes two starts with the same number.
using BootNonce = std::array<std::uint8_t, 16>;
struct Boot {
  std::uint64_t epoch = 0;
  BootNonce nonce{};
  friend auto operator<=>(const Boot&, const Boot&) = default;
};

inline constexpr const char* kEpochFile = "epoch";
// Counting never reaches this; larger numbers from other nodes are rejected.
inline constexpr std::uint64_t kMaxEpoch = std::uint64_t{1} << 48;

// Counts this start: the number is on the disk before it is returned. A lost count begins at 1 again; an unreadable
// file is renamed first. Errors: the system's own.
Result<Boot> count_boot(const std::filesystem::path& folder);
// Errors: the system's own.
Result<> keep_epoch(const std::filesystem::path& folder, std::uint64_t epoch);

// A node's present epoch, signed by the node. Peers keep the claims of each other.
struct EpochClaim {
  PublicKey author;
  Boot boot;
  Signature signature;
  friend auto operator<=>(const EpochClaim&, const EpochClaim&) = default;
};

inline constexpr std::size_t kEpochClaimBytes = 32 + 8 + 16 + 64;

EpochClaim make_claim(const SigningKey& key, const Boot& boot);
bool is_genuine(const EpochClaim& claim);
std::string encode(const EpochClaim& claim);
// None if the bytes are no claim. Doesn't check the signature.
std::optional<EpochClaim> decode_claim(std::string_view bytes);

// The epoch that this start must have, given claims of the own key that peers hold: the present one, or one above
// epochs that the node forgot. Claims of other keys and forged ones are ignored.
std::uint64_t learn_epoch(const PublicKey& own, const Boot& now, std::span<const EpochClaim> held);

}  // namespace corral::mesh
