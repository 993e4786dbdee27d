#include "fleet/base/node_options.h"

#include <algorithm>
#include <climits>

#include <unistd.h>

namespace corral::fleet {
namespace {

constexpr std::size_t kLongestName = 63;

template <typename Take>
void each_word(std::string_view text, const Take& take) {
  while (true) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    take(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

mesh::Address parse_listen(std::string_view text) {
  // An address to dial has no port 0.
  constexpr std::string_view kAnyPort = ":0";
  const bool any = text.ends_with(kAnyPort);
  std::string text_with_port(any ? text.substr(0, text.size() - kAnyPort.size()) : text);
  if (any) text_with_port += ":1";
  auto address = mesh::parse_address(text_with_port).value_or(mesh::Address{"0.0.0.0", 8100});
  if (any) address.port = 0;
  return address;
}

std::vector<mesh::Address> parse_addresses(std::string_view words) {
  std::vector<mesh::Address> addresses;
  each_word(words, [&](std::string_view word) {
    if (auto address = mesh::parse_address(word)) addresses.push_back(std::move(*address));
  });
  return addresses;
}

std::vector<StaticPeer> parse_peers(std::string_view words) {
  std::vector<StaticPeer> peers;
  each_word(words, [&](std::string_view word) {
    const auto at = word.find('@');
    if (at == std::string_view::npos) return;
    const auto node = mesh::parse_node_id(word.substr(0, at));
    auto address = mesh::parse_address(word.substr(at + 1));
    if (node && address) peers.push_back({*node, std::move(*address)});
  });
  return peers;
}

std::vector<mesh::WantedModel> parse_wants(std::string_view words) {
  std::vector<mesh::WantedModel> wants;
  each_word(words, [&](std::string_view word) {
    if (std::ranges::find(wants, word, &mesh::WantedModel::name) != wants.end()) return;
    wants.push_back({std::string(word), word.contains('/') ? std::string(word) : std::string()});
  });
  return wants;
}

mesh::Role role_of(std::string_view configured, bool joins_without_models) {
  return mesh::parse_role(configured).value_or(joins_without_models ? mesh::Role::worker : mesh::Role::member);
}

std::string node_name(std::string_view configured) {
  if (!configured.empty()) return std::string(configured);
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "node";
  return std::string(name).substr(0, kLongestName);
}

}  // namespace corral::fleet
