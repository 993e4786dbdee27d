// Format of the hashes that are stored on disk, so that files are not hashed again at each start. Pure functions.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "models/hash/file_stamp.h"

namespace corral::models {

struct KeptHash {
  FileStamp stamp;  // without the device: its number may change with a restart
  Sha256 hash{};
  std::vector<Sha256> steps = {};  // see FileHash
};
using KeptHashes = std::map<std::filesystem::path, KeptHash>;

// Limits the entries to 16,384 files: forgets entries that aren't `wanted`, as many as needed.
void make_room(KeptHashes& hashes, const std::set<std::filesystem::path>& wanted);
// Of at most 16,384 files.
std::string to_text(const KeptHashes& hashes);
// Skips invalid rows; none: the whole text is invalid. Never throws for invalid content.
std::optional<KeptHashes> parse_kept_hashes(std::string_view text);

}  // namespace corral::models
