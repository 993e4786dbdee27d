#include "mesh/hints/message_pack.h"

namespace corral::mesh {
namespace {

std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

}  // namespace

void PackWriter::big_endian(std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out_.push_back(static_cast<char>(value >> shift & 0xff));
}

// `wide`: the code for a size of 16 bits; the one for 32 bits is the next.
PackWriter& PackWriter::sized(std::uint8_t small, std::uint32_t small_max, std::uint8_t wide, std::uint32_t size) {
  if (size <= small_max) {
    out_.push_back(static_cast<char>(small | size));
  } else if (size <= 0xffff) {
    out_.push_back(static_cast<char>(wide));
    big_endian(size, 2);
  } else {
    out_.push_back(static_cast<char>(wide + 1));
    big_endian(size, 4);
  }
  return *this;
}

PackWriter& PackWriter::map(std::uint32_t pairs) { return sized(0x80, 15, 0xde, pairs); }
PackWriter& PackWriter::array(std::uint32_t elements) { return sized(0x90, 15, 0xdc, elements); }
PackWriter& PackWriter::text(std::string_view text) {
  sized(0xa0, 31, 0xda, static_cast<std::uint32_t>(text.size()));
  out_ += text;
  return *this;
}
PackWriter& PackWriter::number(std::uint64_t number) {
  if (number < 0x80) {
    out_.push_back(static_cast<char>(number));
  } else {
    out_.push_back('\xcf');
    big_endian(number, 8);
  }
  return *this;
}
PackWriter& PackWriter::flag(bool flag) {
  out_.push_back(flag ? '\xc3' : '\xc2');
  return *this;
}

std::optional<PackReader::Head> PackReader::head() const {
  if (rest_.empty()) return std::nullopt;
  const auto code = static_cast<std::uint8_t>(rest_.front());
  if (code < 0x80) return Head{Kind::scalar, 1, code, true};
  if (code < 0x90) return Head{Kind::map, 1, code & 0x0fu};
  if (code < 0xa0) return Head{Kind::array, 1, code & 0x0fu};
  if (code < 0xc0) return Head{Kind::text, 1, code & 0x1fu};
  if (code >= 0xe0) return Head{Kind::scalar, 1};  // a small negative number
  // `bytes`: how many bytes behind the code hold a size or a number.
  const auto wide = [&](Kind kind, std::size_t bytes, bool is_number = false) -> std::optional<Head> {
    if (rest_.size() < 1 + bytes) return std::nullopt;
    return Head{kind, 1 + bytes, read_big_endian(rest_.substr(1, bytes)), is_number};
  };
  switch (code) {
    case 0xc0:
    case 0xc2:
    case 0xc3:
      return Head{Kind::scalar, 1};
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return wide(Kind::text, std::size_t{1} << (code - 0xc4));
    case 0xca:
      return wide(Kind::scalar, 4);
    case 0xcb:
      return wide(Kind::scalar, 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
      return wide(Kind::scalar, std::size_t{1} << (code - 0xcc), true);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
      return wide(Kind::scalar, std::size_t{1} << (code - 0xd0));
    case 0xd9:
    case 0xda:
    case 0xdb:
      return wide(Kind::text, std::size_t{1} << (code - 0xd9));
    case 0xdc:
    case 0xdd:
      return wide(Kind::array, code == 0xdc ? 2 : 4);
    case 0xde:
    case 0xdf:
      return wide(Kind::map, code == 0xde ? 2 : 4);
    default:
      return Head{};  // an extension, which no agent sends
  }
}

std::optional<std::uint32_t> PackReader::map() {
  const auto next = head();
  if (!next || next->kind != Kind::map) return std::nullopt;
  rest_.remove_prefix(next->bytes);
  return static_cast<std::uint32_t>(next->value);
}

std::optional<std::uint32_t> PackReader::array() {
  const auto next = head();
  if (!next || next->kind != Kind::array) return std::nullopt;
  rest_.remove_prefix(next->bytes);
  return static_cast<std::uint32_t>(next->value);
}

std::optional<std::string_view> PackReader::text() {
  const auto next = head();
  if (!next || next->kind != Kind::text || rest_.size() - next->bytes < next->value) return std::nullopt;
  const auto found = rest_.substr(next->bytes, next->value);
  rest_.remove_prefix(next->bytes + next->value);
  return found;
}

std::optional<std::uint64_t> PackReader::number() {
  const auto next = head();
  if (!next || !next->is_number) return std::nullopt;
  rest_.remove_prefix(next->bytes);
  return next->value;
}

bool PackReader::scalar() {
  const auto next = head();
  if (!next || next->kind != Kind::scalar) return false;
  rest_.remove_prefix(next->bytes);
  return true;
}

bool PackReader::is_cut_off() const {
  const auto next = head();
  return !next || next->kind == Kind::text;
}

bool PackReader::skip() {
  const auto extent = extent_of(rest_);
  if (extent.state != PackState::whole) return false;
  rest_.remove_prefix(extent.bytes);
  return true;
}

PackExtent extent_of(std::string_view bytes) { return PackScanner().scan(bytes); }

PackExtent PackScanner::scan(std::string_view bytes) {
  PackReader reader(bytes.substr(at_));
  while (open_ > 0) {
    if (const auto pairs = reader.map()) {
      open_ += 2 * std::uint64_t{*pairs};
    } else if (const auto elements = reader.array()) {
      open_ += *elements;
    } else if (!reader.text() && !reader.scalar()) {
      return {reader.is_cut_off() ? PackState::cut_off : PackState::malformed, 0};
    }
    --open_;
    at_ = bytes.size() - reader.rest().size();
  }
  return {PackState::whole, at_};
}

}  // namespace corral::mesh
