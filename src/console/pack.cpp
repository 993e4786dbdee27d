#include "console/pack.h"

#include <array>
#include <charconv>
#include <optional>

#include <zlib.h>

extern "C" {
extern const char corral_console_pack[];
extern const char corral_console_pack_end[];
}

namespace corral::console {
namespace {

constexpr std::size_t kColumns = 6;

// Until `end`, which it removes as well; everything if there is none.
std::string_view take_until(std::string_view& text, char end) {
  const auto at = std::min(text.find(end), text.size());
  const auto taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Pack::Pack(std::string_view bytes) {
  const auto head_end = bytes.find("\n\n");
  if (head_end == std::string_view::npos) return;
  auto head = bytes.substr(0, head_end + 1);
  bytes.remove_prefix(head_end + 2);
  std::map<std::string_view, File> files;
  while (!head.empty()) {
    auto line = take_until(head, '\n');
    std::array<std::string_view, kColumns> columns;
    for (auto& column : columns) column = take_until(line, '\t');
    const auto& [path, type, size, packed, etag, lasts] = columns;
    const auto all = number(size), here = number(packed);
    if (!all || !here || *here > bytes.size()) return;
    files[path] = {
        .type = type, .gzip = bytes.substr(0, *here), .etag = etag, .size = *all, .immutable = lasts == "immutable"};
    bytes.remove_prefix(*here);
  }
  files_ = std::move(files);
}

const Pack& Pack::embedded() {
  static const Pack pack(
      std::string_view(corral_console_pack, static_cast<std::size_t>(corral_console_pack_end - corral_console_pack)));
  return pack;
}

const File* Pack::find(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

std::string inflated(const File& file) {
  std::string text(file.size, '\0');
  z_stream stream{};
  constexpr int kGzip = 16, kLargestWindow = 15;
  if (inflateInit2(&stream, kLargestWindow + kGzip) != Z_OK) return {};
  // zlib does not change what it reads.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.gzip.data()));
  stream.avail_in = static_cast<uInt>(file.gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole ? text : std::string();
}

}  // namespace corral::console
