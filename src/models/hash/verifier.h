// Checks whether a model's files have the expected bytes. The expected hash is known from
//   the file's own name    blobs of the hub's cache and of Ollama's store have their SHA-256 as name,
//                          except files from addresses, for which no server publishes a hash
//   an earlier check       kept in a file; valid as long as size, time and inode of the file are the same
// A file with neither is only hashed, for comparison at the next check.
//
// Blocking; one thread at a time. Reads on a low-priority thread (hash_file()).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "models/hash/digest.h"
#include "models/hash/kept_hashes.h"
#include "models/model_info.h"

namespace corral::models {

// Hash in the name of the file that `path` leads to: 64 hexadecimal digits, or "sha256-" and these. None for other
// names. One file system access.
std::optional<Sha256> promised_hash(const std::filesystem::path& path);

enum class Verdict : std::uint8_t {
  right,
  damaged,     // other bytes, but no sign of a write
  changed,     // written or replaced since the last check
  first_look,  // no hash to compare with
  unsettled,   // written to while it was read
  unreadable,
};
std::string_view name_of(Verdict verdict);

struct FileCheck {
  std::filesystem::path path;
  Verdict verdict = Verdict::right;
  std::uint64_t bytes = 0;
  std::optional<Sha256> hash;      // actual hash
  std::optional<Sha256> expected;  // expected hash
  std::string cause;               // of `unreadable`
  std::filesystem::path moved_to;  // by quarantine(); empty: not moved
};

class Verifier {
 public:
  using Hasher = std::function<Result<std::optional<FileHash>>(const std::filesystem::path& file,
                                                               const std::function<bool()>& go_on)>;

  // `record`: file of earlier results.
  explicit Verifier(std::filesystem::path record, Hasher hasher);

  // Calls `go_on` once per MiB; none when it returned false.
  std::optional<FileCheck> check(const std::filesystem::path& file, const std::function<bool()>& go_on);
  // Writes the results. Errors: the system's own.
  Result<> save();

 private:
  void load();

  const std::filesystem::path record_;
  const Hasher hasher_;
  bool loaded_ = false;
  KeptHashes seen_;
};

// Hides a damaged file from scans: renames the target of `path` to a name that ends in ".damaged" (".damaged-2", ...),
// and removes `path` itself if it is a link. Deletes no data. Returns the new name. Errors: the system's own.
Result<std::filesystem::path> quarantine(const std::filesystem::path& path);

// All files of a model: its parts, then the projector.
std::vector<std::filesystem::path> files_of(const ModelInfo& model);

}  // namespace corral::models
