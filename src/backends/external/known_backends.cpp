#include "backends/external/known_backends.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "backends/errors.h"
#include "backends/external/descriptor_reader.h"
#include "backends/external/errors.h"
#include "backends/external/model_entries.h"

namespace corral::backends {
namespace {

namespace fs = std::filesystem;

struct BuiltIn {
  std::string_view name;
  std::string_view text;
};
constexpr BuiltIn kBuiltIn[] = {
#include CORRAL_BUILTIN_DESCRIPTORS
};

Result<Descriptor> descriptor_of(const toml::table& table, const std::string& name) {
  Descriptor descriptor;
  descriptor.types = {ModelType::llm};
  const auto read = read_fields(table, Of::recipe, name, descriptor);
  if (!read) return std::unexpected(read.error());
  if (descriptor.possible == Device::none) descriptor.possible = descriptor.device;
  descriptor.possible |= descriptor.device;
  const auto sound = check_whole(descriptor, name);
  if (!sound) return std::unexpected(sound.error());
  return descriptor;
}

void add(KnownBackends& known, Descriptor descriptor) {
  auto fresh = std::make_shared<const Descriptor>(std::move(descriptor));
  const auto same = std::ranges::find(known.descriptors, fresh->recipe, [](const auto& one) { return one->recipe; });
  if (same != known.descriptors.end()) {
    *same = std::move(fresh);
  } else {
    known.descriptors.push_back(std::move(fresh));
  }
}

// The descriptors that aren't rows of the table.
std::vector<OwnRecipe> own_recipes(const KnownBackends& known) {
  std::vector<OwnRecipe> own;
  for (const auto& one : known.descriptors) {
    if (one->file.empty() && known.recipes.find(one->recipe) != nullptr) continue;
    const auto what = one->program.empty() ? std::string("a command") : one->program;
    own.push_back({one->recipe, one->device, one->possible, one->npu, one->types, what});
  }
  return own;
}

}  // namespace

DescriptorPtr KnownBackends::find(std::string_view recipe) const {
  const auto found =
      std::ranges::find(descriptors, recipe, [](const auto& one) { return std::string_view(one->recipe); });
  return found == descriptors.end() ? nullptr : *found;
}

Result<Descriptor> parse_descriptor(std::string_view text, const std::string& name) {
  const auto table = parse_toml(text, name);
  if (!table) return std::unexpected(table.error());
  return descriptor_of(*table, name);
}

std::span<const DescriptorPtr> builtin_descriptors() {
  static const auto known = [] {
    std::vector<DescriptorPtr> list;
    for (const auto& [name, text] : kBuiltIn) {
      auto descriptor = parse_descriptor(text, std::string(name) + ".toml");
      // A test reads all of them.
      if (descriptor) list.push_back(std::make_shared<const Descriptor>(std::move(*descriptor)));
    }
    std::ranges::sort(list, {}, [](const auto& one) { return one->recipe; });
    return list;
  }();
  return known;
}

KnownBackends read_backends(const fs::path& folder, const KnownBackends* before) {
  KnownBackends known;
  const auto builtin = builtin_descriptors();
  known.descriptors.assign(builtin.begin(), builtin.end());
  if (before != nullptr) known.recipes = before->recipes;
  if (folder.empty()) return known;
  std::set<fs::path> files;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder / "backends.d", ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == ".toml") files.insert(entry->path());
  }
  for (const auto& file : files) {
    const auto table = read_own_toml(file);
    auto descriptor = table ? descriptor_of(*table, file.native()) : std::unexpected(table.error());
    if (descriptor && descriptor->recipe == "llamacpp") {
      descriptor =
          fail(external::errc::bad_descriptor,
               fmt::format("{}: recipe: 'llamacpp' is corral's own engine; use another name", file.native()), "recipe");
    }
    if (!descriptor) {
      known.problems.push_back(descriptor.error());
      if (before == nullptr) continue;
      for (const auto& old : before->descriptors)
        if (old->file == file) add(known, *old);
      continue;
    }
    descriptor->file = file;
    add(known, std::move(*descriptor));
  }
  const auto& models = known.models_file = folder / "models.toml";
  if (fs::exists(models, ignored)) {
    auto table = read_own_toml(models);
    if (table) {
      read_models(*table, models.native(), known);
    } else {
      known.problems.push_back(table.error());
      if (before != nullptr) {
        known.models = before->models;
        known.preload = before->preload;
      }
    }
  }
  known.recipes = known.recipes.with(own_recipes(known));
  return known;
}

}  // namespace corral::backends
