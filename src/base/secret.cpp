#include "base/secret.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/random.h>

namespace corral {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string random_text(std::size_t characters) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string text(characters, '\0');
  for (std::size_t done = 0; done < text.size();) {
    const auto got = ::getrandom(text.data() + done, text.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::system_category(), "no random bytes");
    done += static_cast<std::size_t>(got);
  }
  for (char& c : text) c = kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return text;
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string to_hex(const Sha256& digest) {
  std::string text;
  for (const auto byte : digest) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

std::optional<Sha256> parse_sha256(std::string_view hex) {
  Sha256 digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

}  // namespace corral
