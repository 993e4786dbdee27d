// Reads the header of a GGUF file (versions 2 and 3, little-endian): its metadata, and on demand its tensor infos.
// Never the weights. The files come from anywhere, so every count and length is checked against the file's size and
// against the limits of gguf_metadata.h before anything is allocated. Big arrays (the tokenizer's vocabulary) are
// stepped over, not copied.
//
// Format: magic "GGUF", u32 version, u64 tensors, u64 pairs; pairs of key, u32 type, value; infos of name, u32 rank,
// u64 dims[rank], u32 type, u64 offset; padding to the alignment; weights. Strings are u64 length and bytes.
// (github.com/ggml-org/ggml, docs/gguf.md.)
//
// Blocking file access: call it off the loop. One thread at a time per reader; the metadata is a plain value.
// Errors: errc::file_not_found, unreadable, not_gguf, truncated, unsupported_version, malformed. Messages name the
// file.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "models/gguf/byte_source.h"
#include "models/gguf/gguf_metadata.h"

namespace corral::models {

struct GgufTensor {
  std::string_view name;  // valid during the visit
  std::uint32_t type = 0;
  std::uint32_t rank = 0;
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};  // dims[0] runs fastest
  std::uint64_t elements = 0;
  std::optional<std::uint64_t> bytes;  // nothing when the type isn't in our table (gguf_types.h)
  std::uint64_t offset = 0;            // from the start of the weights
};

class GgufReader {
 public:
  // Opens the file and reads the metadata.
  static Result<GgufReader> open(const std::filesystem::path& path);
  // The same for bytes from elsewhere; `label` stands for the file in messages.
  static Result<GgufReader> from(std::unique_ptr<ByteSource> source, std::string label);

  std::uint32_t version() const { return version_; }
  std::uint64_t tensor_count() const { return tensor_count_; }
  std::uint64_t file_size() const { return source_->size(); }
  const GgufMetadata& metadata() const { return metadata_; }

  // Reads the tensor infos and shows them in the file's order. Then checks that the file is long enough for the weights
  // (errc::truncated). Can be called again; it reads the infos again.
  Result<> each_tensor(const std::function<void(const GgufTensor&)>& visit);

  // The error with the file's name before its message, unless it is there already.
  Error labelled(Error error) const;

 private:
  GgufReader() = default;
  Result<> read_metadata();
  // The end of the tensor's data, counted from the start of the weights.
  Result<std::uint64_t> read_tensor(ByteCursor& cursor, const std::function<void(const GgufTensor&)>& visit);

  std::unique_ptr<ByteSource> source_;
  std::string label_;
  std::uint32_t version_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t infos_start_ = 0;
  std::uint64_t alignment_ = 32;
  GgufMetadata metadata_;
};

}  // namespace corral::models
