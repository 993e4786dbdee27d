#include "models/scan/projectors.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "models/names/model_names.h"

namespace corral::models {
namespace {

constexpr std::string_view kMark = "mmproj";
constexpr std::array<std::string_view, 4> kPreferred{"f16", "bf16", "q8_0", "f32"};

std::size_t rank_of(const std::string& stem) {
  const std::string quantisation = to_lower(split_quantisation(stem).quantisation);
  return static_cast<std::size_t>(std::ranges::find(kPreferred, quantisation) - kPreferred.begin());
}

// The family with "mmproj" taken from either end.
std::string projector_family(const std::string& stem) {
  std::string family = family_of(stem);
  if (const auto at = family.find(kMark); at != std::string::npos) {
    family.erase(at, kMark.size());
    std::erase_if(family, [&, i = std::size_t{0}](char c) mutable { return i++ == at && c == '-'; });
  }
  while (family.starts_with('-')) family.erase(0, 1);
  while (family.ends_with('-')) family.pop_back();
  return family;
}

bool begins_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == '-');
}

// How many characters the names share when one begins with the other; 0: they have nothing to do with each other.
std::size_t match(const std::string& model, const std::string& projector) {
  if (model.empty() || projector.empty()) return 0;
  const bool related = begins_with_word(model, projector) || begins_with_word(projector, model);
  return related ? std::min(model.size(), projector.size()) : 0;
}

}  // namespace

std::string family_of(const std::string& stem) {
  std::string family = to_lower(split_quantisation(stem).base);
  std::ranges::replace_if(family, [](char c) { return c == '_' || c == '.' || c == ' '; }, '-');
  return family;
}

std::optional<std::size_t> choose_projector(const std::string& stem, bool only_family,
                                            const std::vector<ProjectorChoice>& projectors) {
  const std::string family = family_of(stem);
  using Score = std::tuple<std::size_t, std::size_t, std::size_t, std::string_view>;  // smaller is better
  std::optional<std::pair<Score, std::size_t>> best;
  for (std::size_t i = 0; i < projectors.size(); ++i) {
    const std::string other = projector_family(projectors[i].stem);
    const std::size_t shared = match(family, other);
    if (shared == 0 && !only_family) continue;
    const std::size_t unlike = family.size() + other.size() - 2 * shared;
    const Score score{shared > 0 ? 0 : 1, shared > 0 ? unlike : 0, rank_of(projectors[i].stem), projectors[i].stem};
    if (!best || score < best->first) best.emplace(score, i);
  }
  if (!best) return std::nullopt;
  return best->second;
}

}  // namespace corral::models
