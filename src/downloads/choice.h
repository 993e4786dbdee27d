// Which files of a repository belong together, and which of them to fetch. Pure.
//
// A repository holds the same model in several quantisations, each as one file or as a split set, beside projectors,
// draft models, adapters and measurements. Rules of choice as llama.cpp has them: the quantisation that was asked for,
// else Q4_K_M, else Q8_0, else the first one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::downloads {

// How the identifier of a file's content was made.
enum class HashKind : std::uint8_t {
  sha256,    // large files
  git_sha1,  // small ones: SHA-1 of "blob SIZE\0" and the content
  none,      // nobody said what the content is
};

// One file of a repository.
struct TreeFile {
  std::string path = {};
  std::uint64_t size = 0;  // bytes
  std::string oid = {};    // the name of its blob; the hash of its content in hexadecimal digits, unless `none`
  HashKind hash = HashKind::sha256;
  std::string stamp = {};  // of a file without a hash: what changes when it does, if its server says so

  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

// One form of the model that can be fetched.
struct Variant {
  std::string tag = {};              // "Q4_K_M"; the file's stem where its name has no quantisation
  std::vector<TreeFile> files = {};  // the parts of a split set in their order, else one
  std::optional<TreeFile> projector = {};
  std::vector<TreeFile> beside = {};  // what belongs to it and isn't a part of it: parameters, a licence
  std::uint64_t bytes = 0;            // of all of it

  // What to fetch, what is beside it, the projector and later parts first: who sees the first part sees all.
  std::vector<TreeFile> in_order() const;
};

// By its name: what a model sees or hears with.
bool is_projector_file(std::string_view path);

// All of them, by path. Split sets with a missing part aren't among them.
std::vector<Variant> variants_of(std::span<const TreeFile> tree);

// By tag, by file, or by the rules above when both are empty. A file that was named may be any. Errors: file_not_found,
// naming what there is.
Result<Variant> choose(std::span<const TreeFile> tree, std::string_view repo, std::string_view tag,
                       std::string_view file);

// The largest whose bytes are at most `room`; nullptr if there is none.
const Variant* largest_within(std::span<const Variant> variants, std::uint64_t room);

}  // namespace corral::downloads
