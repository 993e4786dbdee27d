// SHA-256 of what comes piece by piece, by the processor's own instructions where it has them. Not for several threads.
//
// A hash has steps: its state behind each 16 MiB, and at the end the hash itself. Whoever has the steps checks each 16
// MiB alone, and has checked the whole by the last one, for each goes on from the one before: a byte is hashed once.
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
  // Goes on behind the first `step` steps; there are so many at least.
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

// Makes one of what comes piece by piece.
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
