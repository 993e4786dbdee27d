// Hashes of files as they are kept on disk, so that nobody hashes 40 GB again at each start. Pure functions.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "models/file_stamp.h"

namespace corral::models {

struct KeptHash {
  FileStamp stamp;  // without the device: its number may be another one after a restart
  Sha256 hash{};
  std::vector<Sha256> steps = {};  // see FileHash
};
using KeptHashes = std::map<std::filesystem::path, KeptHash>;

// Where there are more than 16,384 files, forgets as many as needed of those that aren't `wanted`: they are gone.
void make_room(KeptHashes& hashes, const std::set<std::filesystem::path>& wanted);
// Of at most 16,384 files.
std::string to_text(const KeptHashes& hashes);
// Rows that make no sense are left out; nothing: the whole text makes none. Never throws for what stands there.
std::optional<KeptHashes> parse_kept_hashes(std::string_view text);

}  // namespace corral::models
