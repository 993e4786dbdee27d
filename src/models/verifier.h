// Whether a model's files still hold the bytes that they should. What they should hold is known from
//   the file's own name    blobs of the hub's cache and of Ollama's store are called by their SHA-256,
//                          except files from addresses, whose hash no server tells
//   an earlier look        kept in a file; it counts as long as size, time and inode of the file are the same
// A file of which neither is known is only hashed, so that the next look has something to compare with.
//
// Blocking; one thread at a time. Reads on a thread that yields to everybody (hash_file()).
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
#include "models/digest.h"
#include "models/kept_hashes.h"
#include "models/model_info.h"

namespace corral::models {

// What the name of the file that `path` leads to promises: 64 hexadecimal digits, or "sha256-" and these. Nothing for
// other names. One look at the file system.
std::optional<Sha256> promised_hash(const std::filesystem::path& path);

enum class Verdict : std::uint8_t {
  right,
  damaged,     // other bytes, though nobody says to have written to it
  changed,     // somebody wrote to it, or replaced it, since the last look
  first_look,  // nothing was known to compare with
  unsettled,   // written to while it was read
  unreadable,
};
std::string_view name_of(Verdict verdict);

struct FileCheck {
  std::filesystem::path path;
  Verdict verdict = Verdict::right;
  std::uint64_t bytes = 0;
  std::optional<Sha256> hash;      // what it has
  std::optional<Sha256> expected;  // what it should have
  std::string cause;               // of `unreadable`
  std::filesystem::path moved_to;  // by quarantine(); empty: it lies where it lay
};

class Verifier {
 public:
  using Hasher = std::function<Result<std::optional<FileHash>>(const std::filesystem::path& file,
                                                               const std::function<bool()>& go_on)>;

  // `record` keeps what was seen.
  explicit Verifier(std::filesystem::path record, Hasher hasher);

  // `go_on` is asked once for each MiB; nothing when it said no.
  std::optional<FileCheck> check(const std::filesystem::path& file, const std::function<bool()>& go_on);
  // Writes what was learnt. Errors: the system's own.
  Result<> save();

 private:
  void load();

  const std::filesystem::path record_;
  const Hasher hasher_;
  bool loaded_ = false;
  KeptHashes seen_;
};

// Takes a damaged file out of what scans find: what `path` leads to gets a name that ends in ".damaged" beside the old
// one (".damaged-2", ...), and `path` itself, where it is a link, goes. Nothing is deleted. Returns the new name.
// Errors: the system's own.
Result<std::filesystem::path> quarantine(const std::filesystem::path& path);

// All files of a model: its parts, then the projector.
std::vector<std::filesystem::path> files_of(const ModelInfo& model);

}  // namespace corral::models
