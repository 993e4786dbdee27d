#include "base/sampler_kind.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace corral {
namespace {

struct Row {
  SamplerKind kind;
  char letter;
  std::string_view name;
  std::string_view other = {};  // a second name that isn't a spelling of the first
};
constexpr Row kRows[] = {
    {SamplerKind::penalties, 'e', "penalties"},
    {SamplerKind::dry, 'd', "dry"},
    {SamplerKind::top_n_sigma, 's', "top_n_sigma"},
    {SamplerKind::top_k, 'k', "top_k"},
    {SamplerKind::typical_p, 'y', "typ_p", "typ"},
    {SamplerKind::typical_p, 'y', "typical_p", "typical"},
    {SamplerKind::top_p, 'p', "top_p", "nucleus"},
    {SamplerKind::min_p, 'm', "min_p"},
    {SamplerKind::xtc, 'x', "xtc"},
    {SamplerKind::temperature, 't', "temperature", "temp"},
    {SamplerKind::adaptive_p, 'a', "adaptive_p"},
};

constexpr SamplerKind kDefault[] = {
    SamplerKind::penalties, SamplerKind::dry,       SamplerKind::top_n_sigma,
    SamplerKind::top_k,     SamplerKind::typical_p, SamplerKind::top_p,
    SamplerKind::min_p,     SamplerKind::xtc,       SamplerKind::temperature,
};

// Lower case without separators.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_' && c != '-') text.push_back(to_lower(c));
  }
  return text;
}

}  // namespace

std::span<const SamplerKind> default_samplers() { return kDefault; }

std::string_view name_of(SamplerKind kind) { return std::ranges::find(kRows, kind, &Row::kind)->name; }

std::optional<SamplerKind> sampler_named(std::string_view name) {
  const std::string wanted = plain(name);
  for (const Row& row : kRows) {
    if (wanted == plain(row.name) || (!row.other.empty() && wanted == row.other)) return row.kind;
  }
  return std::nullopt;
}

std::optional<SamplerKind> sampler_lettered(char letter) {
  const auto* const found = std::ranges::find(kRows, letter, &Row::letter);
  return found == std::end(kRows) ? std::nullopt : std::optional(found->kind);
}

std::string sampler_list() {
  std::string text;
  for (const Row& row : kRows) {
    if (row.name == "typical_p") continue;  // a duplicate
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", row.name, row.letter);
  }
  return text;
}

}  // namespace corral
