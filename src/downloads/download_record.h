// The list of downloads, as a text that survives the process: downloads.json. Pure.
//
//   [{"name": "org/repo", "paused": true, "repo": "org/repo", "files": [{"path": "x.gguf", "size": 1, "oid": "ab…"}],
//     "error": "why it failed", "code": "disk_full"}]
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "downloads/download_view.h"

namespace corral::downloads {

std::string write_record(std::span<const EarlierDownload> downloads);
// Skips entries without a name. If an entry's files are invalid, or an earlier version wrote it, only its name is used:
// pulling it again resumes its partial files.
std::vector<EarlierDownload> read_record(std::string_view text);

}  // namespace corral::downloads
