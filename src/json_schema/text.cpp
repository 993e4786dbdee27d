#include "json_schema/text.h"

#include "base/utf8.h"

namespace corral::json_schema {

std::u32string characters_of(std::string_view utf8) {
  std::u32string all;
  while (!utf8.empty()) {
    const auto length = utf8_step(utf8).length;
    auto character = static_cast<char32_t>(static_cast<unsigned char>(utf8[0]));
    if (length > 1) character &= 0x7Fu >> length;
    for (std::size_t i = 1; i < length; ++i) character = character << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3Fu);
    all += character;
    utf8.remove_prefix(length);
  }
  return all;
}

}  // namespace corral::json_schema
