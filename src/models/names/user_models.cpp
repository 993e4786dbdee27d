#include "models/names/user_models.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/state_file.h"
#include "base/text.h"
#include "json/value.h"
#include "models/errors.h"
#include "models/names/model_names.h"
#include "models/text.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnRecipe = "llamacpp";

Problem problem(const fs::path& file, std::string name, std::string text) {
  Error cause(make_error_code(errc::malformed), fmt::format("{}: {}", file.native(), text), "model");
  return {ModelName(std::move(name)), file, std::move(cause)};
}

std::string checkpoint_of(const json::Value& entry) {
  const auto* several = json::find(entry, "checkpoints");
  return std::string(several ? json::text_or(*several, "main", "") : json::text_or(entry, "checkpoint", ""));
}

// What is wrong with an entry; empty: nothing.
std::string wrong(const UserModel& model, const RecipeTable& recipes) {
  if (model.checkpoint.empty() && !model.configured) return "it needs a 'checkpoint': a file or the name of a model";
  const Recipe* const recipe = recipes.find(model.recipe);
  if (!recipe) return fmt::format("unknown recipe '{}'; known recipes: {}", model.recipe, recipes.names());
  for (const auto& label : model.labels) {
    const auto type = type_of_label(label);
    if (type && !serves(*recipe, *type)) return fmt::format("recipe '{}' does not serve '{}'", model.recipe, label);
  }
  return {};
}

void add_labels(ModelInfo& info, const UserModel& user) {
  const auto names_a_type = [](const std::string& label) { return type_of_label(label).has_value(); };
  if (std::ranges::any_of(user.labels, names_a_type)) info.type = type_of_labels(user.labels);
  for (const auto& label : user.labels) {
    if (std::ranges::find(info.labels, label) == info.labels.end()) info.labels.push_back(label);
  }
  // Clients find models for images by this label; only the recipe says that it is one.
  if (info.type == ModelType::image && std::ranges::none_of(info.labels, names_a_type))
    info.labels.emplace_back("image");
}

void declare(ModelInfo& info, const Declared& declared) {
  info.declared = declared;
  if (declared.context > 0) info.traits.context_length = declared.context;
  info.traits.tools = declared.tools.value_or(info.traits.tools);
  info.traits.vision = declared.vision.value_or(info.traits.vision);
  const std::pair<std::optional<bool>, std::string_view> labels[] = {{declared.tools, "tool-calling"},
                                                                     {declared.vision, "vision"}};
  for (const auto& [flag, label] : labels) {
    if (!flag) continue;
    std::erase(info.labels, label);
    if (*flag) info.labels.emplace_back(label);
  }
}

// Counts a file for the size of the model. Its stamp; nothing: there is no such file.
std::optional<FileStamp> add_size(ModelInfo& info, const std::string& file) {
  struct stat status{};
  if (!fs::path(file).is_absolute() || ::stat(file.c_str(), &status) != 0) return std::nullopt;
  if (S_ISREG(status.st_mode)) info.size = Bytes(info.size.value() + static_cast<std::uint64_t>(status.st_size));
  return stamp_of(status);
}

// A model of another recipe: only the facts of its entry are known.
ModelInfo foreign(const UserModel& user, const RecipeTable& recipes) {
  const Recipe& recipe = *recipes.find(user.recipe);
  ModelInfo info;
  info.recipe = user.recipe;
  info.checkpoint = user.checkpoint;
  info.type = recipe.types.front();
  if (fs::path(user.checkpoint).is_absolute()) {
    info.paths = {user.checkpoint};
    if (const auto stamp = add_size(info, user.checkpoint)) info.stamps.push_back(*stamp);
  }
  return info;
}

class Merger {
 public:
  Merger(const Catalog& found, const UserModels& user, const RecipeTable& recipes)
      : found_(found), user_(user), recipes_(recipes) {}

  Catalog run() {
    problems_.assign(found_.problems().begin(), found_.problems().end());
    problems_.insert(problems_.end(), user_.problems.begin(), user_.problems.end());
    for (const auto& entry : user_.models) add(entry);
    for (const auto& model : found_.models()) {
      const bool shadowed = std::ranges::any_of(
          models_, [&](const ModelInfo& own) { return equal_ignoring_case(own.name.value(), model->name.value()); });
      if (!taken_.contains(model.get()) && !shadowed) models_.push_back(*model);
    }
    const auto others = found_.not_models();
    return Catalog(std::move(models_), std::move(problems_), {others.begin(), others.end()});
  }

 private:
  void add(const UserModel& entry) {
    ModelInfo info;
    const bool own = entry.recipe == kOwnRecipe;
    // Programs may use files of found models too, or have other names for their models.
    const bool by_name = own || !entry.checkpoint.empty();
    const auto original = by_name ? find(entry) : std::unexpected(Error(make_error_code(errc::model_not_found), ""));
    if (own || (original && is_its_file(entry, **original))) {
      if (!original) {
        problems_.push_back({ModelName(entry.name), entry.checkpoint, original.error()});
        return;
      }
      info = **original;
      info.recipe = entry.recipe;
      // A second entry is another model of the same file, as is one of another recipe.
      if (own && taken_.insert(original->get()).second) {
        info.aliases.push_back(info.name);
      } else {
        info.aliases.clear();
      }
    } else {
      info = foreign(entry, recipes_);
    }
    for (const auto& part : entry.parts) (void)add_size(info, part);
    info.name = ModelName(entry.name);
    for (const auto& alias : entry.aliases) info.aliases.emplace_back(alias);
    add_labels(info, entry);
    declare(info, entry.declared);
    models_.push_back(std::move(info));
  }

  // Whether the program of the entry would read the file of this model.
  static bool is_its_file(const UserModel& entry, const ModelInfo& found) {
    return takes_gguf(entry.recipe) || entry.reads_file || found.recipe == entry.recipe;
  }

  Result<Catalog::Model> find(const UserModel& entry) const {
    const fs::path path(entry.checkpoint);
    if (!path.is_absolute()) return found_.find(entry.checkpoint);
    const auto has_it = [&path](const Catalog::Model& model) { return model->paths.front() == path; };
    const auto at = std::ranges::find_if(found_.models(), has_it);
    if (at != found_.models().end()) return *at;
    return fail(errc::file_not_found,
                fmt::format("'{}' is not a model file; user_models.json has it for '{}'", path.native(), entry.name),
                "model");
  }

  const Catalog& found_;
  const UserModels& user_;
  const RecipeTable& recipes_;
  std::vector<ModelInfo> models_;
  std::vector<Problem> problems_;
  std::set<const ModelInfo*> taken_;
};

}  // namespace

UserModels read_user_models(const fs::path& file, const RecipeTable& recipes) {
  UserModels user;
  if (file.empty()) return user;
  const auto text = read_state_file(file);
  if (!text) {
    user.problems.push_back(problem(file, file.stem(), text.error().message));
    return user;
  }
  if (!*text) return user;
  const auto parsed = json::parse(**text);
  const auto* entries = parsed ? parsed->if_object() : nullptr;
  if (!entries) {
    user.problems.push_back(
        problem(file, file.stem(), parsed ? "it must be an object of models" : parsed.error().message));
    return user;
  }
  for (const auto& [name, entry] : *entries) {
    UserModel model{printable(without_prefix(name)),
                    checkpoint_of(entry),
                    std::string(json::text_or(entry, "recipe", kOwnRecipe)),
                    {}};
    const auto* fetched = json::find(entry, "fetched");
    model.fetched = fetched != nullptr && fetched->is_bool() && fetched->get_bool();
    const auto* aliases = json::find(entry, "aliases");
    for (const auto& alias : aliases && aliases->is_array() ? aliases->get_array() : json::Array()) {
      if (const auto* word = alias.if_string()) model.aliases.push_back(printable(*word));
    }
    const auto* labels = json::find(entry, "labels");
    for (const auto& label : labels && labels->is_array() ? labels->get_array() : json::Array()) {
      if (const auto* word = label.if_string()) model.labels.emplace_back(*word);
    }
    auto reason = wrong(model, recipes);
    const auto same = [&model](const UserModel& other) { return other.name == model.name; };
    if (std::ranges::any_of(user.models, same)) reason = "there is another entry with this name";
    if (!reason.empty()) {
      user.problems.push_back(problem(file, model.name, fmt::format("'{}': {}", model.name, reason)));
    } else {
      user.models.push_back(std::move(model));
    }
  }
  return user;
}

UserModels with_configured(UserModels user, const std::vector<UserModel>& configured, const RecipeTable& recipes) {
  std::vector<UserModel> all;
  for (const auto& model : configured) {
    auto reason = wrong(model, recipes);
    if (reason.empty()) {
      all.push_back(model);
    } else {
      user.problems.push_back(problem("models.toml", model.name, fmt::format("'{}': {}", model.name, reason)));
    }
  }
  for (auto& model : user.models) {
    const auto same = [&model](const UserModel& other) { return other.name == model.name; };
    if (std::ranges::none_of(configured, same)) all.push_back(std::move(model));
  }
  user.models = std::move(all);
  return user;
}

std::vector<fs::path> files_of(const UserModels& user) {
  std::vector<fs::path> files;
  for (const auto& model : user.models) {
    std::error_code ignored;
    const fs::path path(model.checkpoint);
    if (takes_gguf(model.recipe) && path.is_absolute() && (model.recipe == kOwnRecipe || path.extension() == ".gguf") &&
        fs::is_regular_file(path, ignored))
      files.push_back(path);
  }
  return files;
}

Catalog add_user_models(Catalog found, const UserModels& user, const RecipeTable& recipes) {
  if (user.models.empty() && user.problems.empty()) return found;
  return Merger(found, user, recipes).run();
}

Catalog add_installed(Catalog found, const std::vector<InstalledModel>& installed, const RecipeTable& recipes) {
  std::vector<ModelInfo> added;
  for (const auto& [model, is_installed] : installed) {
    if (found.contains(model.name) || !wrong(model, recipes).empty() || !is_installed()) continue;
    auto& info = added.emplace_back(foreign(model, recipes));
    info.name = ModelName(model.name);
    info.installed = true;
    add_labels(info, model);
    declare(info, model.declared);
  }
  if (added.empty()) return found;
  for (const auto& model : found.models()) added.push_back(*model);
  const auto problems = found.problems();
  const auto others = found.not_models();
  const auto aliases = found.user_aliases();
  return {std::move(added),
          {problems.begin(), problems.end()},
          {others.begin(), others.end()},
          {aliases.begin(), aliases.end()}};
}

}  // namespace corral::models
