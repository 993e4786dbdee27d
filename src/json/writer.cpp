#include "json/writer.h"

#include <array>

#include "base/utf8.h"

namespace corral::json {
namespace {

enum : std::uint8_t { kPlain, kEscape, kHigh };

constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (std::size_t c = 0; c < 0x20; ++c) classes[c] = kEscape;
  for (std::size_t c = 0x80; c < 0x100; ++c) classes[c] = kHigh;
  classes['"'] = classes['\\'] = kEscape;
  return classes;
}();

void append_control(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    default:
      break;
  }
  static constexpr char kHex[] = "0123456789abcdef";
  const char escape[] = {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
  out.append(escape, sizeof escape);
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  std::size_t from = 0, at = 0;
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    const auto kind = kClasses[c];
    if (kind == kPlain) {
      ++at;
      continue;
    }
    std::size_t length = 1;
    if (kind == kHigh) {
      const auto sequence = utf8_step(text.substr(at));
      length = sequence.length;
      if (sequence.valid) {
        at += length;
        continue;
      }
    }
    out.append(text, from, at - from);
    if (kind == kHigh) {
      out.append(kReplacementCharacter);
    } else {
      append_control(out, c);
    }
    at += length;
    from = at;
  }
  out.append(text, from, text.size() - from);
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (kClasses[static_cast<unsigned char>(text[at])] != kHigh) {
      ++at;
      continue;
    }
    const auto sequence = utf8_step(text.substr(at));
    if (!sequence.valid) return false;
    at += sequence.length;
  }
  return true;
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  append_escaped(out, text);
  out.push_back('"');
}

}  // namespace corral::json
