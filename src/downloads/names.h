// What people call a model that isn't here yet, as a value. Pure.
//
//   org/repo                     a repository of the hub; which of its files is a matter of choice.h
//   org/repo:Q8_0                the files of one quantisation
//   org/repo:sub/file.gguf       one file
//   hf.co/..., huggingface.co/…, https://huggingface.co/org/repo[/resolve/REVISION/FILE]   the same, and the addresses
//                                of its pages as a browser has them
//   https://elsewhere/x.gguf     a file at an address
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
  std::string tag = {};       // hub: a quantisation, or empty; ollama: never empty ("latest")
  std::string file = {};      // hub: a path inside the repository, or empty
  std::string revision = {};  // hub: a branch, tag or commit ("main")
  std::string address = {};   // address: all of it

  friend bool operator==(const SourceName&, const SourceName&) = default;
};

inline constexpr std::size_t kMaxNameBytes = 1024;

// Errors: bad_name, which says what is wrong with it and what would be right.
Result<SourceName> parse_source(std::string_view text);

// Whether a path that a server gave may become a file below a folder: relative, none of its parts empty, "." or "..",
// no control characters or backslashes, UTF-8, no part above 255 bytes.
bool is_safe_path(std::string_view path);
// Whether a hash that a server gave may become the name of a file: 40 or 64 small hexadecimal digits.
bool is_safe_oid(std::string_view oid);
// "org/repo" as the hub allows it: letters, digits, "-", "_" and "." in both parts, neither too long.
bool is_repo(std::string_view repo);
// Of a branch, tag or commit: what is safe as a path, without blanks and characters that mean something in an address.
bool is_revision(std::string_view revision);

// For paths in addresses: everything but letters, digits and "-._~/" as %XX.
std::string escape_path(std::string_view path);

}  // namespace corral::downloads
