// File with the parked KV of one token list: format, writing, checks.
//
//   offset  size  content (little endian)
//        0     8  "corralKV"
//        8     4  version of this format
//       12     4  bytes of the fingerprint
//       16     8  number of tokens
//       24     8  bytes of the payload
//       32     8  XXH3 of the payload
//       40     8  XXH3 of the head up to the payload, these 8 bytes taken as 0
//       48        fingerprint, tokens (4 bytes each), payload
//
// The fingerprint identifies what can use the bytes: model file, cache types, adapters, libllama version. A file is
// written under a temporary name and then renamed, so that no half-written file has the final name. It is not synced,
// so a power cut may damage it; its hashes detect that. Blocking; any thread. Errors: park_failed (system error),
// park_damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/values/types.h"

namespace corral::engine {

// The KV of a token list, as saved by libllama.
struct Parked {
  std::vector<Token> tokens;
  std::vector<std::uint8_t> bytes;
};

// "<hash of the fingerprint>-<hash of the tokens>.kv"; all names of a fingerprint begin with the same prefix.
std::string parked_name(std::string_view fingerprint, std::span<const Token> tokens);
std::string parked_name_prefix(std::string_view fingerprint);

// Size of the file that write_parked makes.
std::uint64_t parked_file_bytes(std::string_view fingerprint, const Parked& parked);

// Replaces the file `path`. Only its owner can read it, since it contains conversations. A failure leaves no file
// behind.
Result<> write_parked(const std::filesystem::path& path, std::string_view fingerprint, const Parked& parked);

// The tokens of a file whose size and head are valid; does not read the payload.
Result<std::vector<Token>> read_parked_tokens(const std::filesystem::path& path, std::string_view fingerprint);
// Reads and checks the whole file.
Result<Parked> read_parked(const std::filesystem::path& path, std::string_view fingerprint);

// One file in a folder of parked KV.
struct ParkedFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::filesystem::file_time_type used;  // modification time, which each use sets
};
// All files with names of parked_name's form, of any fingerprint; none if there is no folder. Removes temporary files
// that a crashed process has left.
Result<std::vector<ParkedFile>> list_parked(const std::filesystem::path& folder);

}  // namespace corral::engine
