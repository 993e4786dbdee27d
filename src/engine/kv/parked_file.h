// A file with the parked KV of one token list: its format, how it is written, how much of it is believed.
//
//   offset  size  what (little endian)
//        0     8  "corralKV"
//        8     4  version of this format
//       12     4  bytes of the fingerprint
//       16     8  number of tokens
//       24     8  bytes of the payload
//       32     8  XXH3 of the payload
//       40     8  XXH3 of the head up to the payload, these 8 bytes taken as 0
//       48        fingerprint, tokens (4 bytes each), payload
//
// The fingerprint says what the bytes are good for: the model's file, the cache's types, the adapters, libllama's
// version. A file is written under another name and renamed, so that a half-written one is never found under its own;
// nothing waits for the disk, so after a power cut it may be damaged, which its hashes tell. Blocking; any thread.
// Errors: park_failed (the system said no), park_damaged.
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

// The KV of a token list, as libllama gave it out.
struct Parked {
  std::vector<Token> tokens;
  std::vector<std::uint8_t> bytes;
};

// "<hash of the fingerprint>-<hash of the tokens>.kv"; all names of a fingerprint begin with the same prefix.
std::string parked_name(std::string_view fingerprint, std::span<const Token> tokens);
std::string parked_name_prefix(std::string_view fingerprint);

// Size of the file that write_parked makes.
std::uint64_t parked_file_bytes(std::string_view fingerprint, const Parked& parked);

// Replaces the file `path`; readable by its owner only, for it holds what was said. On failure nothing is left behind.
Result<> write_parked(const std::filesystem::path& path, std::string_view fingerprint, const Parked& parked);

// The tokens of a file that is as long as it must be and whose head is whole; the payload isn't looked at.
Result<std::vector<Token>> read_parked_tokens(const std::filesystem::path& path, std::string_view fingerprint);
// Everything, all of it checked.
Result<Parked> read_parked(const std::filesystem::path& path, std::string_view fingerprint);

// One file in a folder of parked KV.
struct ParkedFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::filesystem::file_time_type used;  // its time of modification, which is set when it is used
};
// All files there that have a name of parked_name's form, whatever their fingerprint; none if there is no folder.
// Temporary ones that somebody's crash left behind are removed.
Result<std::vector<ParkedFile>> list_parked(const std::filesystem::path& folder);

}  // namespace corral::engine
