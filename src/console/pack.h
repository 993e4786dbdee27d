// The files of the page, as web/pack.mjs packs them: one line of text for each, an empty line, then their bytes.
//
//   PATH <tab> TYPE <tab> BYTES <tab> PACKED BYTES <tab> ETAG <tab> immutable | fresh
//
// The bytes are gzip. Immutable files have the hash of their content in their name. A pack without bytes is no page:
// the program was built without npm.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace corral::console {

struct File {
  std::string_view type;  // "text/html; charset=utf-8"
  std::string_view gzip;
  std::string_view etag;  // without quotes
  std::uint64_t size = 0;
  bool immutable = false;
};

class Pack {
 public:
  Pack() = default;
  // `bytes` must outlive it. A malformed pack is an empty one.
  explicit Pack(std::string_view bytes);
  // The one that this program embeds.
  static const Pack& embedded();

  bool empty() const { return files_.empty(); }
  // `path` without a leading slash: "index.html", "assets/index-BdkXk1.js". nullptr: no such file.
  const File* find(std::string_view path) const;

 private:
  std::map<std::string_view, File> files_;
};

// The content of the file; empty if it is damaged.
std::string inflated(const File& file);

}  // namespace corral::console
