#include "api/supply/removal_plan.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "api/base/errors.h"
#include "downloads/hub/ollama_registry.h"
#include "models/scan/hub_cache.h"

namespace corral::api {
namespace {

namespace fs = std::filesystem;

std::vector<ModelName> others_with(const models::Catalog& catalog, const models::ModelInfo& model,
                                   const fs::path& file) {
  std::vector<ModelName> names;
  for (const auto& other : catalog.models()) {
    if (other->name == model.name) continue;
    const bool has = other->mmproj == file || std::ranges::find(other->paths, file) != other->paths.end();
    if (has) names.push_back(other->name);
  }
  return names;
}

// models--org--repo/snapshots/COMMIT/a/b.gguf below the cache.
struct HubPath {
  std::string repo, path;
};
std::optional<HubPath> hub_path(const fs::path& file, const fs::path& cache) {
  if (!is_within(file, cache)) return std::nullopt;
  const fs::path below = file.lexically_relative(cache);
  auto part = below.begin();
  const auto repo = models::hub_repo_of(part->native());
  if (!repo || ++part == below.end() || *part != "snapshots" || ++part == below.end()) return std::nullopt;
  fs::path rest;
  for (++part; part != below.end(); ++part) rest /= *part;
  if (rest.empty()) return std::nullopt;
  return HubPath{*repo, rest.native()};
}

// Adds files next to a model of Ollama's registry: parameters, licences and the like, or an adapter that isn't a
// separate model. The file "x-1b-lora.gguf" is the adapter of "x:1b", or the model "x:1b-lora".
void add_beside(std::vector<std::string>& paths, const models::Catalog& catalog, const fs::path& file) {
  std::set<std::string> of_models;
  for (const auto& model : catalog.models()) {
    of_models.insert(model->mmproj.filename());
    for (const fs::path& path : model->paths) of_models.insert(path.filename());
  }
  const std::string stem = file.stem().native();
  for (std::size_t number = 1; number <= downloads::kMaxLayers; ++number) {
    // "x-1b-2.license.txt" is the second licence of "x:1b", unless there is a model "x:1b-2".
    if (number > 1 && of_models.contains(fmt::format("{}-{}.gguf", stem, number))) continue;
    for (auto& name : downloads::names_beside(stem, number)) {
      if (!of_models.contains(name)) paths.push_back(std::move(name));
    }
  }
}

std::unexpected<Error> not_ours(const models::ModelInfo& model, const fs::path& file, std::string_view reason,
                                std::string_view way_on) {
  return fail(errc::file_not_ours,
              fmt::format("'{}' isn't deleted: {} {}; {}", model.name.value(), file.native(), reason, way_on),
              "model_name");
}

}  // namespace

bool is_within(const fs::path& path, const fs::path& folder) {
  if (folder.empty()) return false;
  const fs::path below = path.lexically_normal().lexically_relative(folder.lexically_normal());
  return !below.empty() && below != "." && *below.begin() != "..";
}

Result<RemovalPlan> plan_removal(const models::Catalog& catalog, const models::ModelInfo& model,
                                 const ModelPlaces& places, NamedBy named, bool models_dir) {
  std::vector<fs::path> files = model.paths;
  if (!model.mmproj.empty()) files.push_back(model.mmproj);
  RemovalPlan plan;
  for (const fs::path& file : files) {
    if (auto needed = others_with(catalog, model, file); !needed.empty()) {
      plan.kept.push_back({file, std::move(needed)});
      continue;
    }
    const auto in = [&](const std::vector<fs::path>& folders) {
      return std::ranges::any_of(folders, [&](const fs::path& one) { return one == file || is_within(file, one); });
    };
    if (named == NamedBy::client && !(models_dir && in(places.models_dirs))) {
      plan.kept.push_back({file, {}});
    } else if (auto hub = hub_path(file, places.hub_cache)) {
      auto& paths = plan.from_hub[hub->repo];
      // Equal files of a repository are one model. A projector may belong to another model under another name.
      if (file != model.mmproj) plan.weights[hub->repo].push_back(hub->path);
      paths.push_back(std::move(hub->path));
      if (file == model.paths.front() && hub->repo.starts_with(models::kOllamaRepos)) add_beside(paths, catalog, file);
    } else if (is_within(file, places.own)) {
      plan.others.push_back(file);
    } else if (named != NamedBy::files && !models_dir) {
      plan.kept.push_back({file, {}});
    } else if (is_within(file, places.copies)) {
      return not_ours(model, file, "is a copy of another node's model",
                      "remove it with corral mesh, or DELETE /v1/mesh/copies");
    } else if (in(places.other_tools)) {
      return not_ours(model, file, "belongs to the program that downloaded it", "delete it there");
    } else if (!in(places.models_dirs)) {
      return not_ours(model, file, "is not managed by corral", "delete the file yourself");
    } else if (!models_dir) {
      return not_ours(model, file, "is in a folder of models_dir", "delete it yourself, or set 'models_dir': true");
    } else {
      plan.others.push_back(file);
    }
  }
  return plan;
}

}  // namespace corral::api
