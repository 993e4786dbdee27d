#include "models/hash/kept_hashes.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "base/secret.h"
#include "json/value.h"
#include "json/writer.h"
#include "models/hash/digest.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxKeptFiles = 16'384;

// Inodes of some file systems use all 64 bits.
template <typename Number>
std::optional<Number> number_of(const json::Value& row, std::string_view name) {
  const auto* value = json::find(row, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::json::error_code error;
  const auto number = value->to_number<Number>(error);
  return error ? std::nullopt : std::optional(number);
}

// JSON has no bytes: a path that isn't UTF-8 stands in another field, in hexadecimal digits.
void put_path(json::Writer& out, const std::string& path) {
  if (json::is_utf8(path)) {
    out.field("path", path);
    return;
  }
  std::string hex;
  for (const char byte : path) fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(byte));
  out.field("path_hex", hex);
}

std::optional<fs::path> path_of(const json::Value& row) {
  if (const auto path = json::text_or(row, "path", ""); !path.empty()) return fs::path(std::string(path));
  const auto hex = json::text_or(row, "path_hex", "");
  if (hex.empty() || hex.size() % 2 != 0) return std::nullopt;
  std::string path;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const char* const at = hex.data() + i;
    unsigned char byte = 0;
    if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) return std::nullopt;
    path.push_back(static_cast<char>(byte));
  }
  return fs::path(std::move(path));
}

// The last one is the hash itself.
std::string steps_text(const std::vector<Sha256>& steps) {
  std::string text;
  for (const auto& step : steps) text += to_hex(step);
  return text;
}

std::vector<Sha256> read_steps(std::string_view text, std::uint64_t bytes, const Sha256& hash) {
  constexpr std::size_t kDigits = 2 * sizeof(Sha256);
  const auto count = steps_of(bytes);
  if (count == 1 && text.empty()) return {hash};
  if (text.size() / kDigits != count || text.size() % kDigits != 0) return {};
  std::vector<Sha256> steps;
  for (; !text.empty(); text.remove_prefix(kDigits)) {
    const auto step = parse_sha256(text.substr(0, kDigits));
    if (!step) return {};
    steps.push_back(*step);
  }
  if (steps.empty() || steps.back() != hash) return {};
  return steps;
}

}  // namespace

// Entries of missing files stay as long as there is space: a disk may be unmounted for a while.
void make_room(KeptHashes& hashes, const std::set<fs::path>& wanted) {
  for (auto at = hashes.begin(); at != hashes.end() && hashes.size() > kMaxKeptFiles;)
    at = wanted.contains(at->first) ? std::next(at) : hashes.erase(at);
}

std::string to_text(const KeptHashes& hashes) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("files").begin_array();
  std::size_t count = 0;
  for (const auto& [path, kept] : hashes) {
    if (++count > kMaxKeptFiles) break;
    out.begin_object();
    put_path(out, path.native());
    out.field("size", kept.stamp.size).field("mtime_ns", kept.stamp.modified).field("inode", kept.stamp.inode);
    out.field("sha256", to_hex(kept.hash));
    if (kept.steps.size() > 1) out.field("steps", steps_text(kept.steps));
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

std::optional<KeptHashes> parse_kept_hashes(std::string_view text) {
  const auto parsed = json::parse(text);
  const auto* rows = parsed ? json::find(*parsed, "files") : nullptr;
  if (rows == nullptr || !rows->is_array()) return std::nullopt;
  KeptHashes hashes;
  for (const auto& row : rows->get_array()) {
    auto path = path_of(row);
    const auto hash = parse_sha256(json::text_or(row, "sha256", ""));
    const auto size = number_of<std::uint64_t>(row, "size"), inode = number_of<std::uint64_t>(row, "inode");
    const auto modified = number_of<std::int64_t>(row, "mtime_ns");
    if (!path || !hash || !size || !inode || !modified) continue;
    const FileStamp stamp{.device = 0, .inode = *inode, .size = *size, .modified = *modified};
    hashes[std::move(*path)] = {stamp, *hash, read_steps(json::text_or(row, "steps", ""), *size, *hash)};
  }
  return hashes;
}

}  // namespace corral::models
