// A user's name of a model to download, as a value. Pure.
//
//   org/repo                     a repository of the hub; choice.h selects its files
//   org/repo:Q8_0                the files of one quantisation, or of another name that a list of variants has
//   org/repo:sub/file.gguf       one file
//   hf.co/..., huggingface.co/…  the same
//   https://huggingface.co/org/repo[/resolve/REVISION/FILE]
//                                the same, and the URLs of its pages in a browser
//   https://elsewhere/x.gguf     a file at a URL
//   ...#no-mmproj                the same without its projector
//   ollama.com/library/x:tag     a model of Ollama's registry; also registry.ollama.ai/… and ollama://x
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::downloads {

enum class SourceKind : std::uint8_t { hub, address, ollama };

struct SourceName {
  SourceKind kind = SourceKind::hub;
  std::string repo = {};      // hub: "org/repo"; ollama: "library/x"
  std::string tag = {};       // hub: the name of a variant (choice.h), or empty; ollama: never empty ("latest")
  std::string file = {};      // hub: a path inside the repository, or empty
  std::string revision = {};  // hub: a branch, tag or commit ("main")
  std::string address = {};   // address: the whole URL
  bool projector = true;      // fetch the projector of the model, if there is one

  friend bool operator==(const SourceName&, const SourceName&) = default;
};

inline constexpr std::size_t kMaxNameBytes = 1024;
// Behind a name: the download leaves the model's projector out. A part of the name, so that the same name later means
// the same files.
inline constexpr std::string_view kWithoutProjector = "#no-mmproj";

// Errors: bad_name, which says what is wrong and gives examples.
Result<SourceName> parse_source(std::string_view text);

// Whether a server's path may become a file below a folder: relative, no part empty, "." or "..", no control characters
// or backslashes, UTF-8, no part above 255 bytes.
bool is_safe_path(std::string_view path);
// Whether "org/repo:TEXT" means the variant of that name: no path, no .gguf file, not "latest".
bool is_tag(std::string_view text);
// Whether a server's hash may become a file name: 40 or 64 lower-case hexadecimal digits.
bool is_safe_oid(std::string_view oid);
// Whether it is a valid "org/repo" of the hub: letters, digits, "-", "_" and "." in both parts, neither too long.
bool is_repo(std::string_view repo);
// Whether it is a valid branch, tag or commit: safe as a path, without spaces and characters with a meaning in URLs.
bool is_revision(std::string_view revision);

// For paths in URLs: everything but letters, digits and "-._~/" as %XX.
std::string escape_path(std::string_view path);

}  // namespace corral::downloads
