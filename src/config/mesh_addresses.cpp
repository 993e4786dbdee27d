#include "config/mesh_addresses.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "config/errors.h"
#include "config/value.h"

namespace corral::config {
namespace {

constexpr std::size_t kMostEndpoints = 8;
constexpr std::size_t kMostPeers = 32;
constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kLongestHost = 253;
constexpr std::size_t kLongestName = 63;
constexpr std::size_t kMostModels = 64;
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
    return fail(errc::invalid_value, fmt::format("'{}' is no address with a port, such as box.lan:8100 or "
                                                 "[fd00::1]:8100: {}",
                                                 text, why));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("it has no port");
  const auto port = parse_int(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return wrong("the port isn't a number from 0 to 65535");
  auto host = text.substr(0, colon);
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > kLongestHost) return wrong("it has no host");
  if (!brackets && host.contains(':')) return wrong("an address of IPv6 stands in brackets");
  return {};
}

Result<> check_endpoints(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() > kMostEndpoints) {
    return fail(errc::invalid_value, fmt::format("{} addresses are more than {}", words.size(), kMostEndpoints));
  }
  for (const auto& word : words) {
    if (auto fine = check_endpoint(word); !fine) return fine;
    if (word.ends_with(":0")) return fail(errc::invalid_value, fmt::format("'{}': port 0 reaches nobody", word));
  }
  return {};
}

Result<> check_mesh_peers(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() > kMostPeers) {
    return fail(errc::invalid_value, fmt::format("{} nodes are more than {}", words.size(), kMostPeers));
  }
  for (const auto& word : words) {
    const auto at = word.find('@');
    const bool id = at == kIdDigits && std::all_of(word.begin(), word.begin() + kIdDigits,
                                                   [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (!id) {
      return fail(
          errc::invalid_value,
          fmt::format("'{}' is no node: that is its identifier of 64 hexadecimal digits, @, address and port", word));
    }
    if (auto fine = check_endpoint(std::string_view(word).substr(at + 1)); !fine) return fine;
  }
  return {};
}

Result<> check_mesh_models(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() > kMostModels)
    return fail(errc::invalid_value, fmt::format("{} models are more than {}", words.size(), kMostModels));
  for (const auto& word : words) {
    const bool printable = std::ranges::all_of(word, [](unsigned char c) { return c > ' ' && c != 0x7f; });
    if (word.size() > kLongestModel || !printable) {
      return fail(errc::invalid_value,
                  fmt::format("'{}' is no name of a model: {} bytes at most, and nothing that can't be printed",
                              word.substr(0, kLongestModel), kLongestModel));
    }
  }
  return {};
}

Result<> check_mesh_name(const std::string& text) {
  if (text.size() <= kLongestName && std::ranges::all_of(text, [](char c) { return is_name_character(c); })) return {};
  return fail(errc::invalid_value,
              fmt::format("'{}' is no name of {} letters, digits, '.', '-' and '_' at most", text, kLongestName));
}

}  // namespace corral::config
