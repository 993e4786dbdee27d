#include "config/mesh_addresses.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "config/errors.h"
#include "config/options/value.h"

namespace corral::config {
namespace {

constexpr std::size_t kMaxEndpoints = 8;
constexpr std::size_t kMaxPeers = 32;
constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kLongestHost = 253;
constexpr std::size_t kLongestName = 63;
constexpr std::size_t kMaxModels = 64;
constexpr std::size_t kLongestModel = 256;

bool is_name_character(unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; }

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Result<> check_endpoint(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(
        errc::invalid_value,
        fmt::format("'{}' is not an address with a port, such as box.lan:8100 or [fd00::1]:8100: {}", text, why));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("the port is missing");
  const auto port = parse_int(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return wrong("the port is not a number from 0 to 65535");
  auto host = text.substr(0, colon);
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > kLongestHost) return wrong("the host is missing");
  if (!brackets && host.contains(':')) return wrong("an IPv6 address needs brackets");
  return {};
}

Result<> check_endpoints(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() > kMaxEndpoints) {
    return fail(errc::invalid_value, fmt::format("{} addresses are more than {}", words.size(), kMaxEndpoints));
  }
  for (const auto& word : words) {
    if (auto fine = check_endpoint(word); !fine) return fine;
    if (word.ends_with(":0")) return fail(errc::invalid_value, fmt::format("'{}': port 0 is not reachable", word));
  }
  return {};
}

Result<> check_mesh_peers(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() > kMaxPeers) {
    return fail(errc::invalid_value, fmt::format("{} nodes are more than {}", words.size(), kMaxPeers));
  }
  for (const auto& word : words) {
    const auto at = word.find('@');
    const bool id = at == kIdDigits && std::all_of(word.begin(), word.begin() + kIdDigits,
                                                   [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (!id) {
      return fail(
          errc::invalid_value,
          fmt::format("'{}' is not a node: use its identifier of 64 hexadecimal digits, @, address and port", word));
    }
    if (auto fine = check_endpoint(std::string_view(word).substr(at + 1)); !fine) return fine;
  }
  return {};
}

Result<> check_mesh_models(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() > kMaxModels)
    return fail(errc::invalid_value, fmt::format("{} models are more than {}", words.size(), kMaxModels));
  for (const auto& word : words) {
    const bool printable = std::ranges::all_of(word, [](unsigned char c) { return c > ' ' && c != 0x7f; });
    if (word.size() > kLongestModel || !printable) {
      return fail(errc::invalid_value, fmt::format("'{}' is not a model name: use at most {} printable bytes",
                                                   word.substr(0, kLongestModel), kLongestModel));
    }
  }
  return {};
}

Result<> check_mesh_name(const std::string& text) {
  if (text.size() <= kLongestName && std::ranges::all_of(text, [](char c) { return is_name_character(c); })) return {};
  return fail(
      errc::invalid_value,
      fmt::format("'{}' is not a valid name: use at most {} letters, digits, '.', '-' and '_'", text, kLongestName));
}

}  // namespace corral::config
