#include "models/gguf/gguf.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "models/errors.h"
#include "models/gguf/gguf_types.h"
#include "models/text.h"

namespace corral::models {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kMinPair = 8 + 1 + 4 + 1;
constexpr std::uint64_t kMinTensor = 8 + 4 + 4 + 8;

std::unexpected<Error> malformed(std::string what) { return fail(errc::malformed, std::move(what)); }

Result<> check_version(std::uint32_t version) {
  if (version == 2 || version == 3) return {};
  if ((version & 0xFFFF) == 0 && version != 0) {
    return fail(errc::unsupported_version, "a GGUF of the other byte order (big-endian): convert it for this machine");
  }
  return fail(errc::unsupported_version, fmt::format("GGUF version {}: versions 2 and 3 are supported", version));
}

}  // namespace

Result<GgufReader> GgufReader::open(const std::filesystem::path& path) {
  Result<std::unique_ptr<ByteSource>> source = open_file(path);
  if (!source) return std::unexpected(std::move(source).error());
  return from(*std::move(source), printable_path(path));
}

Result<GgufReader> GgufReader::from(std::unique_ptr<ByteSource> source, std::string label) {
  GgufReader reader;
  reader.source_ = std::move(source);
  reader.label_ = std::move(label);
  Result<> read = reader.read_metadata();
  if (!read) return std::unexpected(reader.labelled(std::move(read).error()));
  return reader;
}

Error GgufReader::labelled(Error error) const {
  const std::string prefix = fmt::format("'{}': ", label_);
  if (!error.message.starts_with(prefix)) error.message.insert(0, prefix);
  return error;
}

Result<> GgufReader::read_metadata() {
  ByteCursor cursor(*source_);
  const auto magic = cursor.read<std::uint32_t>();
  if (!cursor.ok() && cursor.error().code == errc::unreadable) return std::unexpected(cursor.error());
  if (!cursor.ok() || magic != kMagic) return fail(errc::not_gguf, "not a GGUF file");

  version_ = cursor.read<std::uint32_t>();
  if (!cursor.ok()) return std::unexpected(cursor.error());
  if (Result<> supported = check_version(version_); !supported) return supported;

  tensor_count_ = cursor.read<std::uint64_t>();
  const auto pairs = cursor.read<std::uint64_t>();
  if (!cursor.ok()) return std::unexpected(cursor.error());
  if (tensor_count_ > gguf_limits::kTensors) return malformed(fmt::format("it has {} tensors", tensor_count_));
  if (pairs > gguf_limits::kPairs) return malformed(fmt::format("it has {} metadata pairs", pairs));
  if (tensor_count_ * kMinTensor + pairs * kMinPair > cursor.remaining()) {
    return fail(errc::truncated, "ends inside its header");
  }

  Result<GgufMetadata> metadata = parse_metadata(cursor, pairs);
  if (!metadata) return std::unexpected(std::move(metadata).error());
  metadata_ = *std::move(metadata);
  infos_start_ = cursor.position();
  if (metadata_.find("general.alignment")) {
    alignment_ = metadata_.integer("general.alignment").value_or(0);
    if (!std::has_single_bit(alignment_) || alignment_ > (1U << 20)) {
      return malformed("general.alignment is not a power of two in range");
    }
  }
  return {};
}

Result<> GgufReader::each_tensor(const std::function<void(const GgufTensor&)>& visit) {
  ByteCursor cursor(*source_, infos_start_);
  std::uint64_t end = 0;  // of the weights, counted from their start
  for (std::uint64_t i = 0; i < tensor_count_; ++i) {
    Result<std::uint64_t> tensor_end = read_tensor(cursor, visit);
    if (!tensor_end) return std::unexpected(labelled(std::move(tensor_end).error()));
    end = std::max(end, *tensor_end);
  }
  if (end == 0) return {};
  const std::uint64_t start = (cursor.position() + alignment_ - 1) & ~(alignment_ - 1);
  if (start > file_size() || end > file_size() - start) {
    return std::unexpected(labelled(
        Error(make_error_code(errc::truncated),
              fmt::format("has {} of {} bytes: the download or copy is incomplete", file_size(), start + end))));
  }
  return {};
}

Result<std::uint64_t> GgufReader::read_tensor(ByteCursor& cursor, const std::function<void(const GgufTensor&)>& visit) {
  const auto name_length = cursor.read<std::uint64_t>();
  if (cursor.ok() && name_length > gguf_limits::kTensorNameLength) {
    return malformed(fmt::format("a tensor name of {} bytes", name_length));
  }
  const std::string name = cursor.text(name_length);
  GgufTensor tensor;
  tensor.name = name;
  tensor.rank = cursor.read<std::uint32_t>();
  if (cursor.ok() && tensor.rank > tensor.dims.size()) {
    return malformed(fmt::format("tensor '{}' has {} dimensions", printable(name), tensor.rank));
  }
  tensor.elements = 1;
  bool overflow = false;
  for (std::uint32_t d = 0; d < tensor.rank && cursor.ok(); ++d) {
    tensor.dims[d] = cursor.read<std::uint64_t>();
    overflow |= __builtin_mul_overflow(tensor.elements, tensor.dims[d], &tensor.elements);
  }
  tensor.type = cursor.read<std::uint32_t>();
  tensor.offset = cursor.read<std::uint64_t>();
  if (!cursor.ok()) return std::unexpected(cursor.error());

  std::uint64_t end = tensor.offset;
  if (const TensorType* type = tensor_type(tensor.type)) {
    if (tensor.dims[0] % type->block_length != 0) {
      return malformed(
          fmt::format("tensor '{}' has rows that are not whole blocks of {}", printable(name), type->name));
    }
    std::uint64_t bytes = 0;
    overflow |= __builtin_mul_overflow(tensor.elements / type->block_length, type->block_bytes, &bytes);
    overflow |= __builtin_add_overflow(end, bytes, &end);
    tensor.bytes = bytes;
  }
  // Well below 2^64, so that adding where the weights start can't wrap.
  if (overflow || end > (1ULL << 62) || tensor.elements > (1ULL << 62)) {
    return malformed(fmt::format("tensor '{}' is too big", printable(name)));
  }
  visit(tensor);
  return end;
}

}  // namespace corral::models
