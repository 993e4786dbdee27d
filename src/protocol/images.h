// Fields of the image endpoints. Fields of a form have the same rules: dialects/images makes a body of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/fields.h"

namespace corral::protocol {

const FieldTable& image_fields();            // POST images/generations
const FieldTable& image_edit_fields();       // POST images/edits, without its files
const FieldTable& image_variation_fields();  // POST images/variations, without its files

struct ImageSize {
  std::uint32_t width = 0, height = 0;
};
// From "512x768". Nothing: it isn't a size that the tables allow.
std::optional<ImageSize> parse_image_size(std::string_view text);

}  // namespace corral::protocol
