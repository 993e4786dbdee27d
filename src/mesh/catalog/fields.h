// Fields of an entry of a node state: tag (8 bits), length (16 bits), bytes. A missing field is zero or empty, and a
// repeated field is a list. Tags of later versions are skipped. Numbers are big-endian without leading zeros. Plain
// values.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "mesh/identity/bytes.h"

namespace corral::mesh {

class FieldWriter {
 public:
  FieldWriter& text(std::uint8_t tag, std::string_view value) {
    if (!value.empty()) raw(tag, value);
    return *this;
  }
  FieldWriter& number(std::uint8_t tag, std::uint64_t value) {
    if (value == 0) return *this;
    std::string bytes;
    ByteWriter(bytes).number<std::uint64_t>(value);
    return raw(tag, std::string_view(bytes).substr(static_cast<std::size_t>(std::countl_zero(value)) / 8));
  }
  // In thousandths.
  FieldWriter& decimal(std::uint8_t tag, double value) {
    const bool sane = value > 0 && value < 1e12;
    return number(tag, sane ? static_cast<std::uint64_t>(std::llround(value * 1000)) : 0);
  }
  FieldWriter& raw(std::uint8_t tag, std::string_view bytes) {
    ByteWriter(bytes_).number<std::uint8_t>(tag).sized<std::uint16_t>(bytes);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct Field {
  std::uint8_t tag = 0;
  std::string_view bytes;

  std::uint64_t number(std::uint64_t limit) const {
    if (bytes.size() > sizeof(std::uint64_t)) return limit;
    std::uint64_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
    return std::min(value, limit);
  }
  template <typename T>
  T small() const {
    return static_cast<T>(number(static_cast<T>(-1)));
  }
  double decimal() const { return static_cast<double>(number(std::uint64_t{1} << 50)) / 1000; }
  bool flag() const { return number(1) == 1; }
  // Safe to show: UTF-8 without control characters, cut at the end of a character.
  std::string text(std::size_t limit) const {
    auto clean = valid_utf8(bytes.substr(0, limit));
    std::erase_if(clean, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
    return clean;
  }
  // Whether the bytes are a usable name: names are never cleaned or cut.
  bool is_name(std::size_t limit) const { return !bytes.empty() && bytes.size() <= limit && text(limit) == bytes; }
};

// Calls `take(field)` for each; false when the bytes are cut off.
template <typename Take>
bool each_field(std::string_view bytes, const Take& take) {
  ByteReader in(bytes);
  while (in.ok() && !in.rest().empty()) {
    Field field;
    field.tag = in.number<std::uint8_t>();
    field.bytes = in.sized<std::uint16_t>();
    if (in.ok()) take(field);
  }
  return in.ok();
}

}  // namespace corral::mesh
