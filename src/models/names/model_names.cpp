#include "models/names/model_names.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/gguf/gguf_types.h"

namespace corral::models {
namespace {

constexpr std::size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";
constexpr std::size_t kShardTail = 1 + kDigits + kOf.size() + kDigits;  // "-00001-of-00002"

std::optional<std::uint64_t> parse_digits(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : kNamePrefixes) {
    if (name.size() > prefix.size() && name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

std::optional<ShardName> parse_shard(std::string_view stem) {
  if (stem.size() <= kShardTail) return std::nullopt;
  const std::string_view tail = stem.substr(stem.size() - kShardTail);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto number = parse_digits(tail.substr(1, kDigits));
  const auto count = parse_digits(tail.substr(1 + kDigits + kOf.size()));
  if (!number || !count || *number == 0 || *number > *count) return std::nullopt;
  return ShardName{stem.substr(0, stem.size() - kShardTail), *number, *count};
}

std::string shard_stem(std::string_view set, std::uint64_t number, std::uint64_t count) {
  return fmt::format("{}-{:05}-of-{:05}", set, number, count);
}

QuantisedName split_quantisation(std::string_view stem) {
  const std::size_t at = stem.find_last_of("-.");
  if (at == std::string_view::npos) return is_quantisation(stem) ? QuantisedName{"", stem} : QuantisedName{stem, ""};
  if (!is_quantisation(stem.substr(at + 1))) return {stem, ""};
  std::size_t start = at;
  // "…-UD-Q4_K_XL": the prefix belongs to the quantisation.
  const std::string_view before = stem.substr(0, at);
  const std::size_t earlier = before.find_last_of("-.");
  const std::size_t piece = earlier == std::string_view::npos ? 0 : earlier + 1;
  if (is_quantisation(stem.substr(piece))) {
    if (piece == 0) return {"", stem};
    start = earlier;
  }
  return {stem.substr(0, start), stem.substr(start + 1)};
}

std::vector<std::string> assign_names(const std::vector<WantedNames>& wanted) {
  std::map<std::string_view, std::size_t> wanted_by;
  for (const WantedNames& names : wanted)
    if (!names.since) ++wanted_by[names.brief];

  std::vector<std::string> given(wanted.size());
  std::set<std::string> taken;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].since || wanted_by[wanted[i].brief] > 1) continue;
    given[i] = wanted[i].brief;
    taken.insert(given[i]);
  }
  std::vector<std::size_t> later, dated;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (given[i].empty()) (wanted[i].since ? dated : later).push_back(i);
  std::ranges::sort(dated, {}, [&](std::size_t i) { return std::pair(wanted[i].since, i); });
  later.insert(later.end(), dated.begin(), dated.end());
  for (const std::size_t i : later) {
    const std::string& first = wanted[i].since ? wanted[i].brief : wanted[i].exact;
    std::string name = taken.contains(first) ? wanted[i].explicit_ : first;
    for (std::size_t number = 2; taken.contains(name); ++number)
      name = fmt::format("{}#{}", wanted[i].explicit_, number);
    taken.insert(name);
    given[i] = std::move(name);
  }
  return given;
}

}  // namespace corral::models
