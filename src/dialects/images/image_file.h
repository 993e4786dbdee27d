// The format, size and colours of an image, from the first bytes of its file. Pure. The same formats:
// engine/media/picture_headers.cpp (whole files).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace corral::dialects::images {

struct ImageFile {
  std::string_view format;              // "png", "jpeg", "webp"
  std::uint32_t width = 0, height = 0;  // 0: not in these bytes
  bool is_grey = false;                 // it has no colours, only shades
};
// Nothing: another format.
std::optional<ImageFile> read_image_file(std::string_view head);

}  // namespace corral::dialects::images
