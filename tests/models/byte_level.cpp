#include "byte_level.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace corral::test_models {
namespace {

struct Table {
  std::array<std::uint32_t, 256> character{};
  std::map<std::uint32_t, unsigned char> byte;
};

const Table& table() {
  static const Table kTable = [] {
    Table made;
    std::uint32_t next = 0x100;
    for (std::uint32_t b = 0; b < 256; ++b) {
      const bool itself = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      made.character[b] = itself ? b : next++;
      made.byte[made.character[b]] = static_cast<unsigned char>(b);
    }
    return made;
  }();
  return kTable;
}

// The length of the UTF-8 sequence at the front of `text`, 0 if it is none.
std::size_t sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f)) {
    return 0;  // overlong, surrogate or beyond U+10FFFF
  }
  return length;
}

}  // namespace

std::string token_bytes(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const std::size_t length = sequence_length(token);
    const auto lead = static_cast<unsigned char>(token.front());
    // The table knows characters of one and two bytes only; a special token's other characters stand for themselves.
    const std::uint32_t character =
        length == 2 ? ((lead & 0x1fU) << 6U) | (static_cast<unsigned char>(token[1]) & 0x3fU) : lead;
    const auto found = table().byte.find(character);
    if (length >= 1 && length <= 2 && found != table().byte.end()) {
      bytes.push_back(static_cast<char>(found->second));
    } else {
      bytes.append(token.substr(0, length == 0 ? 1 : length));
    }
    token.remove_prefix(length == 0 ? 1 : length);
  }
  return bytes;
}

std::string token_spelling(std::string_view bytes) {
  std::string spelling;
  for (char c : bytes) {
    const std::uint32_t character = table().character[static_cast<unsigned char>(c)];
    if (character < 0x80) {
      spelling.push_back(static_cast<char>(character));
    } else {
      spelling.push_back(static_cast<char>(0xc0U | (character >> 6U)));
      spelling.push_back(static_cast<char>(0x80U | (character & 0x3fU)));
    }
  }
  return spelling;
}

bool is_plain_text(std::string_view bytes) {
  if (bytes == "\n" || bytes == " ") return true;
  bool after_space = false;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_length(bytes.substr(i));
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (length == 0 || c < 0x20 || c == 0x7f || (c == ' ' && after_space)) return false;
    after_space = c == ' ';
    i += length;
  }
  return !bytes.empty();
}

}  // namespace corral::test_models
