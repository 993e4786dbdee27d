#include "downloads/hub/choice.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "downloads/errors.h"
#include "downloads/names.h"
#include "models/names/model_names.h"

namespace corral::downloads {
namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::size_t kMaxNamed = 12;  // variants in a message

std::string_view folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? std::string_view{} : path.substr(0, slash);
}
std::string_view name_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

bool is_gguf(std::string_view path) { return to_lower(path).ends_with(kSuffix); }
bool is_projector(std::string_view path) { return is_gguf(path) && to_lower(name_of(path)).contains("mmproj"); }

// Whether a GGUF file is a complete model, by its name.
bool is_model(std::string_view path) {
  if (!is_gguf(path) || is_projector(path)) return false;
  const std::string name = to_lower(name_of(path));
  constexpr std::array<std::string_view, 6> kFirst{"mtp-", "eagle3-", "dflash-", "dspark-", "draft-", "lora-"};
  constexpr std::array<std::string_view, 5> kInside{"imatrix", "-lora", "adapter", "-draft.", "ggml-vocab"};
  return std::ranges::none_of(kFirst, [&](auto word) { return name.starts_with(word); }) &&
         std::ranges::none_of(kInside, [&](auto word) { return name.contains(word); });
}

// The quantisation in the name of the file or of its folder; empty: none.
std::string quantisation_of(std::string_view path) {
  const std::string_view name = name_of(path);
  std::string_view stem = name.substr(0, name.size() - kSuffix.size());
  if (const auto shard = models::parse_shard(stem)) stem = shard->set;
  std::string_view found = models::split_quantisation(stem).quantisation;
  if (found.empty()) found = models::split_quantisation(name_of(folder_of(path))).quantisation;
  return to_upper(found);
}

// Of several projectors: as the registry of models prefers them.
std::size_t projector_rank(std::string_view path) {
  constexpr std::array<std::string_view, 4> kPreferred{"F16", "BF16", "Q8_0", "F32"};
  return static_cast<std::size_t>(std::ranges::find(kPreferred, quantisation_of(path)) - kPreferred.begin());
}

// The projector in the nearest folder above the model.
std::optional<TreeFile> projector_for(std::span<const TreeFile> tree, const TreeFile& model) {
  const TreeFile* best = nullptr;
  std::pair<std::size_t, std::size_t> best_rank;  // smaller is better
  const std::string_view folder = folder_of(model.path);
  for (const TreeFile& file : tree) {
    if (!is_projector(file.path)) continue;
    const std::string_view place = folder_of(file.path);
    const bool above = place.empty() || folder == place || folder.starts_with(std::string(place) + '/');
    if (!above) continue;
    const std::pair rank{folder.size() - place.size(), projector_rank(file.path)};
    if (!best || rank < best_rank) best = &file, best_rank = rank;
  }
  return best ? std::optional(*best) : std::nullopt;
}

// Files of one set have the same folder, stem and count.
struct SetKey {
  std::string stem;
  std::uint64_t count = 0;
  auto operator<=>(const SetKey&) const = default;
};
SetKey key_of(std::string_view path) {
  const std::string_view stem = path.substr(0, path.size() - kSuffix.size());
  if (const auto shard = models::parse_shard(stem)) return {std::string(shard->set), shard->count};
  return {std::string(stem), 0};
}

// Each variant gets a name that means no other one (names.h).
void name_variants(std::vector<Variant>& variants) {
  const auto path_of = [](const Variant& variant) { return std::string_view(variant.files.front().path); };
  const auto stem_of = [&](const Variant& variant) { return std::string(name_of(key_of(path_of(variant)).stem)); };
  std::map<std::string, std::size_t> uses;
  for (const Variant& variant : variants)
    for (const std::string& name : std::set{quantisation_of(path_of(variant)), to_upper(stem_of(variant))})
      ++uses[name];
  for (Variant& variant : variants) {
    const std::string quantisation = quantisation_of(path_of(variant)), stem = stem_of(variant);
    const auto names_it = [&](const std::string& name) { return is_tag(name) && uses.at(to_upper(name)) == 1; };
    variant.tag = names_it(quantisation) ? quantisation : names_it(stem) ? stem : std::string(path_of(variant));
  }
}

std::vector<Variant> grouped(std::span<const TreeFile> tree, bool (*wanted)(std::string_view)) {
  std::map<SetKey, std::vector<TreeFile>> sets;
  for (const TreeFile& file : tree)
    if (wanted(file.path)) sets[key_of(file.path)].push_back(file);
  std::vector<Variant> variants;
  for (auto& [key, files] : sets) {
    std::ranges::sort(files, {}, &TreeFile::path);
    if (key.count != 0 && files.size() != key.count) continue;
    Variant variant{.projector = projector_for(tree, files.front())};
    for (const TreeFile& file : files) variant.bytes += file.size;
    if (variant.projector) variant.bytes += variant.projector->size;
    variant.files = std::move(files);
    variants.push_back(std::move(variant));
  }
  name_variants(variants);
  return variants;
}

const Variant* find_tag(std::span<const Variant> variants, std::string_view tag) {
  const std::string wanted = to_upper(tag);
  for (const Variant& variant : variants)
    if (to_upper(variant.tag) == wanted) return &variant;
  for (const Variant& variant : variants)
    if (quantisation_of(variant.files.front().path) == wanted) return &variant;
  // Inside the name, at the end of a word: "Q4_K_M" in "x-UD-Q4_K_M-v2.gguf".
  for (const Variant& variant : variants) {
    const std::string path = to_upper(variant.files.front().path);
    for (auto at = path.find(wanted); at != path.npos; at = path.find(wanted, at + 1)) {
      const auto behind = at + wanted.size();
      if (behind < path.size() && (path[behind] == '.' || path[behind] == '-')) return &variant;
    }
  }
  return nullptr;
}

std::string listed(std::span<const Variant> variants) {
  std::vector<std::string_view> tags;
  for (const Variant& variant : variants.first(std::min(variants.size(), kMaxNamed))) tags.push_back(variant.tag);
  return fmt::format("{}{}", fmt::join(tags, ", "), variants.size() > kMaxNamed ? ", …" : "");
}

}  // namespace

std::vector<TreeFile> Variant::in_order() const {
  std::vector<TreeFile> all(files.rbegin(), files.rend());
  if (projector) all.insert(all.begin(), *projector);
  all.insert(all.begin(), beside.begin(), beside.end());
  return all;
}

bool is_projector_file(std::string_view path) { return is_projector(path); }

std::vector<Variant> variants_of(std::span<const TreeFile> tree) { return grouped(tree, is_model); }

Result<Variant> choose(std::span<const TreeFile> tree, std::string_view repo, std::string_view tag,
                       std::string_view file) {
  const std::vector<Variant> variants = variants_of(tree);
  if (!file.empty()) {
    // Any part of a split set selects the whole set; a named projector or adapter is fetched alone.
    const auto has_it = [&](const Variant& variant) {
      return std::ranges::count(variant.files, file, &TreeFile::path) > 0;
    };
    if (const auto found = std::ranges::find_if(variants, has_it); found != variants.end()) return *found;
    auto others = grouped(tree, is_gguf);
    const auto found = std::ranges::find_if(others, has_it);
    if (found == others.end())
      return fail(errc::file_not_found, fmt::format("'{}' has no complete file '{}'; its quantisations are: {}", repo,
                                                    file, listed(variants)));
    if (found->projector) found->bytes -= found->projector->size;
    found->projector.reset();
    return std::move(*found);
  }
  if (variants.empty())
    return fail(
        errc::file_not_found,
        fmt::format("'{}' has no GGUF model; search for a repository of the same model whose name ends in -GGUF",
                    repo));
  if (!tag.empty()) {
    if (const Variant* found = find_tag(variants, tag)) return *found;
    return fail(errc::file_not_found, fmt::format("'{}' has no '{}'; it has: {}", repo, tag, listed(variants)));
  }
  for (const std::string_view usual : {"Q4_K_M", "Q8_0"})
    if (const Variant* found = find_tag(variants, usual)) return *found;
  return variants.front();
}

const Variant* largest_within(std::span<const Variant> variants, std::uint64_t room) {
  const Variant* best = nullptr;
  for (const Variant& variant : variants)
    if (variant.bytes <= room && (!best || variant.bytes > best->bytes)) best = &variant;
  return best;
}

}  // namespace corral::downloads
