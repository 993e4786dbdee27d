// Which downloads there are, as a text that outlives the process: downloads.json. Pure.
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
// Leaves out entries without a name. Of an entry whose files make no sense, or that an earlier version wrote, only the
// name counts: pulling it again goes on with the parts of its files.
std::vector<EarlierDownload> read_record(std::string_view text);

}  // namespace corral::downloads
