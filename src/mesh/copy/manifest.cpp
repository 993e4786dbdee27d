#include "mesh/copy/manifest.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/utf8.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"
#include "models/hash/content_hash.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kLongestName = 255;

std::unexpected<Error> bad(std::string_view why) {
  return fail(errc::malformed, fmt::format("the list of a model's files is malformed: {}", why));
}

bool is_short_text(std::string_view text) {
  return text.size() <= kLongestName && valid_utf8(text) == text &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_name_of_file(std::string_view name) {
  return name.size() > 5 && name.size() <= kLongestName && name.ends_with(".gguf") && !name.starts_with('.') &&
         is_short_text(name) && name.find_first_of("/\\") == std::string_view::npos;
}

std::string body_of(const Manifest& manifest) {
  std::string text;
  ByteWriter out(text);
  out.number<std::uint8_t>(1).raw(manifest.content);
  out.sized<std::uint16_t>(manifest.model).sized<std::uint16_t>(manifest.source);
  out.number<std::uint8_t>(manifest.has_projector ? 1 : 0);
  out.number<std::uint16_t>(static_cast<std::uint16_t>(manifest.files.size()));
  for (const auto& file : manifest.files) {
    out.sized<std::uint16_t>(file.name).number<std::uint64_t>(file.bytes).raw(file.hash);
    out.number<std::uint32_t>(static_cast<std::uint32_t>(file.ranges.size()));
    for (const auto& range : file.ranges) out.raw(range);
  }
  return text;
}

Result<Manifest> read_body(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.number<std::uint8_t>() != 1)
    return fail(errc::unsupported_version, "the list of a model's files has a newer version: update corral");
  Manifest manifest;
  manifest.content = in.fixed<32>();
  manifest.model = in.sized<std::uint16_t>();
  manifest.source = in.sized<std::uint16_t>();
  manifest.has_projector = in.number<std::uint8_t>() != 0;
  const std::size_t files = in.number<std::uint16_t>();
  for (std::size_t i = 0; i < files && in.ok(); ++i) {
    CopyFile file;
    file.name = in.sized<std::uint16_t>();
    file.bytes = in.number<std::uint64_t>();
    file.hash = in.fixed<32>();
    const std::size_t ranges = in.number<std::uint32_t>();
    if (ranges > in.rest().size() / 32) return bad("it is cut off");
    for (std::size_t r = 0; r < ranges; ++r) file.ranges.push_back(in.fixed<32>());
    manifest.files.push_back(std::move(file));
  }
  if (!in.done()) return bad("it is cut off, or has additional bytes");
  return manifest;
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& file : files) sum += file.bytes;
  return sum;
}

std::size_t Manifest::ranges() const {
  std::size_t sum = 0;
  for (const auto& file : files) sum += file.ranges.size();
  return sum;
}

std::uint64_t bytes_of(const Manifest& manifest, RangeId range) {
  if (range.file >= manifest.files.size()) return 0;
  const auto& file = manifest.files[range.file];
  const std::uint64_t begin = range.range * kRangeBytes;
  return begin >= file.bytes ? 0 : std::min(kRangeBytes, file.bytes - begin);
}

Result<> check(const Manifest& manifest) {
  const auto& files = manifest.files;
  if (!is_short_text(manifest.model) || !is_short_text(manifest.source))
    return bad("its name or source has unprintable characters or is too long");
  if (files.empty() || (manifest.has_projector && files.size() < 2)) return bad("it lists no model file");
  if (files.size() > kMaxCopyFiles)
    return fail(errc::too_large, fmt::format("a model has {} files (max {})", files.size(), kMaxCopyFiles));
  std::set<std::string_view> names;
  std::uint64_t ranges = 0;
  std::vector<Sha256> parts;
  for (const auto& file : files) {
    if (!is_name_of_file(file.name))
      return bad(fmt::format("'{}' is not a name of a model file", valid_utf8(file.name.substr(0, 80))));
    if (!names.insert(file.name).second) return bad(fmt::format("it lists '{}' twice", file.name));
    if (file.bytes == 0 || file.bytes > kMaxRanges * kRangeBytes)
      return bad(fmt::format("'{}' has {} bytes", file.name, file.bytes));
    if (file.ranges.size() != models::steps_of(file.bytes))
      return bad(fmt::format("'{}' has a wrong number of hashes", file.name));
    if (file.ranges.back() != file.hash)
      return bad(fmt::format("the last range of '{}' doesn't give the hash of the file", file.name));
    ranges += file.ranges.size();
    parts.push_back(file.hash);
  }
  if (ranges > kMaxRanges)
    return fail(errc::too_large, fmt::format("a model has {} ranges (max {})", ranges, kMaxRanges));
  std::optional<Sha256> projector;
  if (manifest.has_projector) {
    projector = parts.back();
    parts.pop_back();
  }
  if (models::content_of(parts, projector) != manifest.content)
    return bad("its files don't give the content of the model");
  return {};
}

SignedManifest sign_manifest(const SigningKey& author, Manifest manifest) {
  const auto signature = author.sign(Domain::copy, body_of(manifest));
  return {author.public_key(), std::move(manifest), signature};
}

std::string encode(const SignedManifest& signed_one) {
  std::string text;
  ByteWriter out(text);
  out.raw(signed_one.author.bytes).raw(signed_one.signature.bytes).raw(body_of(signed_one.manifest));
  return text;
}

Result<SignedManifest> decode_manifest(std::string_view bytes) {
  if (bytes.size() > kLargestManifest) return fail(errc::too_large, "the list of a model's files is too long");
  ByteReader in(bytes);
  SignedManifest read;
  read.author.bytes = in.fixed<32>();
  read.signature.bytes = in.fixed<64>();
  if (!in.ok()) return bad("it is cut off");
  auto manifest = read_body(in.rest());
  if (!manifest) return std::unexpected(manifest.error());
  if (const auto sound = check(*manifest); !sound) return std::unexpected(sound.error());
  if (!verify(read.author, Domain::copy, in.rest(), read.signature)) {
    return fail(errc::forged, "the list of a model's files has a wrong signature");
  }
  read.manifest = std::move(*manifest);
  return read;
}

}  // namespace corral::mesh
