// The list of a model's files, in hashed ranges, signed by the node that has them. The receiver checks every range
// before it uses it. A copy can continue at another node with the same content. Pure values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "mesh/identity/keys.h"
#include "models/hash/digest.h"

namespace corral::mesh {

inline constexpr std::uint64_t kRangeBytes = models::kStepBytes;
inline constexpr std::size_t kMaxCopyFiles = 256;
inline constexpr std::size_t kMaxRanges = 65'536;  // of all files: 1 TiB
inline constexpr std::size_t kLargestManifest = 4ull << 20;

struct CopyFile {
  std::string name;  // of the file alone: no folders
  std::uint64_t bytes = 0;
  Sha256 hash{};               // of the whole
  std::vector<Sha256> ranges;  // steps of the hash behind each kRangeBytes; the last is the hash
  friend bool operator==(const CopyFile&, const CopyFile&) = default;
};

struct Manifest {
  Sha256 content{};  // of the model, see models::content_of
  std::string model;
  std::string source;           // "org/repo:QUANT"; empty: a local model of the node
  std::vector<CopyFile> files;  // all parts in order, the projector last
  bool has_projector = false;
  friend bool operator==(const Manifest&, const Manifest&) = default;

  std::uint64_t bytes() const;
  std::size_t ranges() const;
};

// One range of one file.
struct RangeId {
  std::uint16_t file = 0;
  std::uint32_t range = 0;
  friend auto operator<=>(const RangeId&, const RangeId&) = default;
};
// 0 for a range that doesn't exist.
std::uint64_t bytes_of(const Manifest& manifest, RangeId range);

// Checks a list of another node: different names of model files, without folders; as many ranges as the sizes need; the
// content that the files' hashes give. Errors: malformed, too_large.
Result<> check(const Manifest& manifest);

struct SignedManifest {
  PublicKey author;
  Manifest manifest;
  Signature signature;
};
SignedManifest sign_manifest(const SigningKey& author, Manifest manifest);

std::string encode(const SignedManifest& signed_one);
// Includes check(), and verifies the signature. Errors: malformed, too_large, forged.
Result<SignedManifest> decode_manifest(std::string_view bytes);

}  // namespace corral::mesh
