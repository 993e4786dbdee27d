// Parses the hub's responses. Pure. All values are checked before they become paths or URLs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "downloads/hub/choice.h"

namespace corral::downloads {

struct Revision {
  std::string commit = {};
  bool gated = false;
  std::string licence = {};  // from the model card; empty: none
};

struct FoundRepo {
  std::string repo = {};
  std::uint64_t downloads = 0;  // in the last 30 days
  std::uint64_t likes = 0;
  bool gated = false;
};

// GET api/models/REPO/revision/REVISION. Errors: upstream_malformed.
Result<Revision> read_revision(std::string_view text);
// One page of GET api/models/REPO/tree/COMMIT?recursive=true, without folders and unsafe paths. Errors:
// upstream_malformed.
Result<std::vector<TreeFile>> read_tree(std::string_view text);
// GET api/models?search=…. Errors: upstream_malformed.
Result<std::vector<FoundRepo>> read_search(std::string_view text);

// The URL of the next page by the field Link; empty if there is none. Only on the same host and port, since the token
// is sent there. `from`: the URL of this page.
std::string next_page(std::string_view link, std::string_view from);

// Scheme, host and port: "https://huggingface.co".
std::string_view origin_of(std::string_view url);

}  // namespace corral::downloads
