// Which files of a repository belong together, and which of them to fetch. Pure.
//
// A repository holds the same model in several quantisations, each as one file or as a split set, beside projectors,
// draft models, adapters and measurements. The rules of choice are llama.cpp's: the requested quantisation, else
// Q4_K_M, else Q8_0, else the first one. Of the projectors in the nearest folder F16 goes before BF16, Q8_0, F32 and
// the rest: they are small, and their errors reach every picture.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::downloads {

// How a content hash was made.
enum class HashKind : std::uint8_t {
  sha256,    // large files
  git_sha1,  // small files: SHA-1 of "blob SIZE\0" and the content
  none,      // the server gave no hash
};

// One file of a repository.
struct TreeFile {
  std::string path = {};
  std::uint64_t size = 0;  // bytes
  std::string oid = {};    // name of its blob; the hash of its content in hexadecimal digits, unless `none`
  HashKind hash = HashKind::sha256;
  std::string stamp = {};  // of a file without a hash: the server's mark of its version, if any

  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

// One downloadable form of the model.
struct Variant {
  // Its name after "org/repo:": "Q4_K_M"; the file's stem if its name has no quantisation, or if another variant has
  // the same; its path if the stem has another meaning there.
  std::string tag = {};
  std::vector<TreeFile> files = {};  // the parts of a split set in order, or one file
  std::optional<TreeFile> projector = {};
  std::vector<TreeFile> beside = {};  // files that belong to it and aren't parts of it: parameters, a licence
  std::uint64_t bytes = 0;            // of all files

  // The files to fetch: extra files, the projector and later parts first, so that a visible first part means a complete
  // model.
  std::vector<TreeFile> in_order() const;
};

// By its name: a file for a model's image or audio input.
bool is_projector_file(std::string_view path);

// All variants, by path. Incomplete split sets are left out.
std::vector<Variant> variants_of(std::span<const TreeFile> tree);

// Chooses by tag (any case; or a quantisation that several variants have), by file, or by the rules above if both are
// empty. A named file may be of any kind. Errors: file_not_found, which lists the available ones.
Result<Variant> choose(std::span<const TreeFile> tree, std::string_view repo, std::string_view tag,
                       std::string_view file);

// The largest variant of at most `room` bytes; nullptr: none.
const Variant* largest_within(std::span<const Variant> variants, std::uint64_t room);

}  // namespace corral::downloads
