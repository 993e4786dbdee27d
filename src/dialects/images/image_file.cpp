#include "dialects/images/image_file.h"

namespace corral::dialects::images {
namespace {

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}
std::uint32_t big_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number << 8 | byte_at(bytes, at + i);
  return number;
}
std::uint32_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t number = 0;
  for (std::size_t i = count; i-- > 0;) number = number << 8 | byte_at(bytes, at + i);
  return number;
}

// The signature, then the chunk IHDR: width, height, bits, and the kind of its colours, of which 0 and 4 are shades.
ImageFile png(std::string_view head) {
  ImageFile file{.format = "png"};
  if (head.size() < 24 || head.substr(12, 4) != "IHDR") return file;
  file.width = big_endian(head, 16, 4);
  file.height = big_endian(head, 20, 4);
  file.is_grey = head.size() > 25 && (head[25] == 0 || head[25] == 4);
  return file;
}

// Frame headers SOF0 to SOF15; the other numbers of this range are tables.
bool is_frame(std::uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Segments: 0xff, a marker, a length of two bytes, which it includes.
ImageFile jpeg(std::string_view head) {
  ImageFile file{.format = "jpeg"};
  for (std::size_t at = 2; at + 9 <= head.size() && byte_at(head, at) == 0xff;) {
    const auto marker = byte_at(head, at + 1);
    if (marker == 0xff) {  // padding
      ++at;
      continue;
    }
    if (is_frame(marker)) {
      file.height = big_endian(head, at + 5, 2);
      file.width = big_endian(head, at + 7, 2);
      file.is_grey = byte_at(head, at + 9) == 1;  // components
      return file;
    }
    const auto length = big_endian(head, at + 2, 2);
    if (length < 2) return file;
    at += 2 + length;
  }
  return file;
}

// The first chunk of the RIFF file: VP8X (with a canvas), VP8L (lossless) or "VP8 ".
ImageFile webp(std::string_view head) {
  ImageFile file{.format = "webp"};
  if (head.size() < 30) return file;
  const auto chunk = head.substr(12, 4);
  if (chunk == "VP8X") {
    file.width = little_endian(head, 24, 3) + 1;
    file.height = little_endian(head, 27, 3) + 1;
  } else if (chunk == "VP8L" && byte_at(head, 20) == 0x2f) {
    const auto bits = little_endian(head, 21, 4);
    file.width = (bits & 0x3fff) + 1;
    file.height = (bits >> 14 & 0x3fff) + 1;
  } else if (chunk == "VP8 " && head.substr(23, 3) == "\x9d\x01\x2a") {
    file.width = little_endian(head, 26, 2) & 0x3fff;
    file.height = little_endian(head, 28, 2) & 0x3fff;
  }
  return file;
}

}  // namespace

std::optional<ImageFile> read_image_file(std::string_view head) {
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return png(head);
  if (head.starts_with("\xff\xd8\xff")) return jpeg(head);
  if (head.starts_with("RIFF") && head.substr(0, 12).ends_with("WEBP") && head.size() >= 12) return webp(head);
  return std::nullopt;
}

}  // namespace corral::dialects::images
