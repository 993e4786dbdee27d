// Which life of a node said something. The boot epoch counts the starts of a node and is kept in its state folder; what
// a node said in an earlier life loses against what it says now. A node that lost the count, but not its key, learns it
// from its own signatures, which peers still hold. Pure but for count_boot() and keep_epoch().
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "mesh/identity/keys.h"

namespace corral::mesh {

// One life of a node. The nonce tells two lives apart that got the same number.
using LifeNonce = std::array<std::uint8_t, 16>;
struct Boot {
  std::uint64_t epoch = 0;
  LifeNonce nonce{};
  friend auto operator<=>(const Boot&, const Boot&) = default;
};

inline constexpr const char* kEpochFile = "epoch";
// Counting can't get here; a number from outside that is larger is refused.
inline constexpr std::uint64_t kMaxEpoch = std::uint64_t{1} << 48;

// Counts this start: the number is on the disk before it is returned. A count that is lost begins at 1 again; one that
// can't be read is put aside first. Errors: the system's own.
Result<Boot> count_boot(const std::filesystem::path& folder);
// Errors: the system's own.
Result<> keep_epoch(const std::filesystem::path& folder, std::uint64_t epoch);

// "This is my life now", signed. What peers hold of each other.
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
// None when the bytes are no claim. Says nothing about its signature.
std::optional<EpochClaim> decode_claim(std::string_view bytes);

// The epoch this life must have, given claims of the own key that peers hold: the present one, or one above those of
// earlier lives that the node forgot. Claims of other keys and forged ones count for nothing.
std::uint64_t learn_epoch(const PublicKey& own, const Boot& now, std::span<const EpochClaim> held);

}  // namespace corral::mesh
