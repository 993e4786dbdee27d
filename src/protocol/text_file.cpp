#include "protocol/text_file.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::protocol {
namespace {

constexpr std::size_t kShownType = 64;

// Six bits for each character of base64; kNone for others.
constexpr std::uint8_t kNone = 0xff;
constexpr auto kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNone);
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return digits;
}();

Result<std::string> from_base64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  const auto broken = [] { return fail(errc::bad_value, "has invalid base64: encode the file again"); };
  if (text.size() % 4 == 1) return broken();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = kDigits[static_cast<unsigned char>(c)];
    if (digit == kNone) return broken();
    bits = bits << 6 | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

}  // namespace

Result<std::string> text_of_file(std::string_view data_url) {
  constexpr std::string_view kScheme = "data:", kEncoding = ";base64";
  const auto comma = data_url.find(',');
  const auto head = data_url.substr(0, comma);
  if (comma == std::string_view::npos || !head.starts_with(kScheme) || !head.ends_with(kEncoding))
    return fail(errc::bad_value, "must be a data URL in base64: \"data:text/plain;base64,...\"");
  auto type = head.substr(kScheme.size(), head.size() - kScheme.size() - kEncoding.size());
  type = type.substr(0, type.find(';'));
  if (!type.starts_with("text/") && type != "application/json") {
    type = type.substr(0, kShownType);
    return fail(errc::unsupported_value,
                fmt::format("has the type \"{}\", but only text is supported: send the text of the document",
                            type.substr(0, complete_utf8_length(type))));
  }
  auto text = from_base64(data_url.substr(comma + 1));
  if (text && !json::is_utf8(*text)) return fail(errc::bad_value, "is not UTF-8: encode the text as UTF-8");
  return text;
}

}  // namespace corral::protocol
