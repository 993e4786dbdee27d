#include "mesh/hints/peer_discovery.h"

#include <charconv>

#include <fmt/format.h>

#include "mesh/identity/epoch.h"

namespace corral::mesh {
namespace {

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

HintLabels labels_of(const Hint& hint) {
  HintLabels labels{to_text(hint.node), {}, fmt::format("{}.{}", hint.epoch, hint.sequence)};
  for (std::size_t i = 0; i < hint.addresses.size() && i < kMaxHintAddresses; ++i) {
    if (i > 0) labels.addresses += ',';
    labels.addresses += to_text(hint.addresses[i]);
  }
  return labels;
}

std::optional<Hint> hint_of(const HintLabels& labels) {
  const auto node = parse_node_id(labels.node);
  const auto dot = labels.progress.find('.');
  if (!node || dot == std::string::npos) return std::nullopt;
  const std::string_view progress = labels.progress;
  const auto epoch = number(progress.substr(0, dot)), sequence = number(progress.substr(dot + 1));
  if (!epoch || !sequence || *epoch > kMaxEpoch) return std::nullopt;
  Hint hint{*node, {}, *epoch, *sequence};
  std::string_view rest = labels.addresses;
  while (!rest.empty()) {
    if (hint.addresses.size() == kMaxHintAddresses) return std::nullopt;
    const auto comma = rest.find(',');
    auto address = parse_address(rest.substr(0, comma));
    if (!address) return std::nullopt;
    hint.addresses.push_back(std::move(*address));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return hint;
}

}  // namespace corral::mesh
