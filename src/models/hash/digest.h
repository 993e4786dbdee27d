// Incremental SHA-256, with the processor's instructions if it has them. Not thread-safe.
//
// A hash has steps: its state behind each 16 MiB, and finally the hash itself. With the steps, each 16 MiB can be
// checked alone. Since each step continues from the one before, the last step completes the check of the whole, and
// each byte is hashed once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/sha256.h"

struct SHA256state_st;

namespace corral::models {

inline constexpr std::uint64_t kStepBytes = 16ull << 20;

class Digest {
 public:
  Digest();
  // Continues behind the first `step` steps; `steps` has at least so many.
  Digest(std::span<const Sha256> steps, std::size_t step);

  void add(std::string_view bytes);
  // The state behind a multiple of 64 bytes.
  Sha256 state() const;
  // Once.
  Sha256 finish();

 private:
  std::shared_ptr<SHA256state_st> state_;
};

Sha256 digest_of(std::string_view bytes);

// Of a file.
struct FileHash {
  std::uint64_t bytes = 0;
  Sha256 hash{};
  std::vector<Sha256> steps = {};  // none: not known
  friend bool operator==(const FileHash&, const FileHash&) = default;
};
constexpr std::uint64_t steps_of(std::uint64_t bytes) { return bytes / kStepBytes + (bytes % kStepBytes != 0 ? 1 : 0); }

// Computes a FileHash incrementally.
class FileDigest {
 public:
  void add(std::string_view bytes);
  // Once.
  FileHash finish();

 private:
  Digest digest_;
  FileHash made_;
};

}  // namespace corral::models
