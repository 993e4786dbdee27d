#include "models/scan/assemble.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/errors.h"
#include "models/gguf/whisper_facts.h"
#include "models/names/model_names.h"
#include "models/scan/found_names.h"
#include "models/scan/hub_cache.h"
#include "models/scan/projectors.h"
#include "models/text.h"

namespace corral::models {
namespace fs = std::filesystem;
namespace {

// A model under construction: all its files, in the order of the shards.
struct Draft {
  std::vector<const KnownFile*> files;
  std::string stem;                  // of the file, without the shard's number
  std::vector<std::string> aliases;  // names of links to it

  const KnownFile& first() const { return *files.front(); }
  const GgufFacts& facts() const { return **first().facts; }
};

std::string stem_of(const FoundFile& file) { return file.path.stem().native(); }

// Where a projector is looked for: the repository, or the directory.
std::string scope_of(const FoundFile& file) {
  if (!file.given.empty()) return "given:" + file.given;
  return file.repo.empty() ? file.path.parent_path().native() : "hub:" + file.repo;
}

std::optional<WeightBytes> sum_of(const std::optional<WeightBytes>& a, const std::optional<WeightBytes>& b) {
  if (!a || !b) return std::nullopt;
  WeightBytes sum;
  if (__builtin_add_overflow(a->layers, b->layers, &sum.layers)) return std::nullopt;
  if (__builtin_add_overflow(a->ends, b->ends, &sum.ends)) return std::nullopt;
  return sum;
}

std::vector<std::string> labels_of(const ModelInfo& model) {
  const ModelTraits& traits = model.traits;
  const std::pair<bool, const char*> table[] = {
      {model.type == ModelType::embedding, "embeddings"},
      {model.type == ModelType::reranking, "reranking"},
      {model.type == ModelType::transcription, "transcription"},
      {model.type == ModelType::llm && traits.chat_template, "chat"},
      {traits.vision, "vision"},
      {traits.audio, "chat-transcription"},
      {model.type == ModelType::llm && traits.tools, "tool-calling"},
      {model.type == ModelType::llm && traits.thinking, "reasoning"},
  };
  std::vector<std::string> labels;
  for (const auto& [holds, label] : table) {
    if (holds) labels.emplace_back(label);
  }
  return labels;
}

class Assembler {
 public:
  Assembler(const std::vector<KnownFile>& files, std::vector<Problem> problems)
      : files_(files), problems_(std::move(problems)) {}

  Catalog run() {
    find_primaries();
    for (const KnownFile& known : files_) add_to_set(known);
    join_sets();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (primary_[i] == i) sort_out(files_[i]);
    }
    std::ranges::sort(drafts_, {}, [](const Draft& draft) { return draft.files.front(); });  // back to the walk's order
    add_link_names();
    return Catalog(build(), std::move(problems_), std::move(not_models_));
  }

 private:
  using SetKey = std::pair<fs::path, std::string>;  // directory, stem without number and with the count
  using Inode = std::pair<std::uint64_t, std::uint64_t>;

  // Several paths may lead to one file. Prefers a real file to a link, then the first.
  void find_primaries() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> by_inode;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const FoundFile& file = files_[i].file;
      const auto [at, fresh] = by_inode.try_emplace({file.stamp.device, file.stamp.inode}, i);
      if (!fresh && files_[at->second].file.link && !file.link) at->second = i;
    }
    for (const KnownFile& known : files_) {
      primary_.push_back(by_inode.at({known.file.stamp.device, known.file.stamp.inode}));
    }
  }

  void add_problem(std::string_view name, const fs::path& path, errc cause, std::string message) {
    problems_.push_back({ModelName(printable(name)), path, Error(make_error_code(cause), std::move(message))});
  }

  static SetKey set_key(const FoundFile& file, const ShardName& shard) {
    return {file.path.parent_path(), fmt::format("{}-of-{}", shard.set, shard.count)};
  }

  static Inode inode_of(const KnownFile& known) { return {known.file.stamp.device, known.file.stamp.inode}; }

  // The loader finds the parts of a set by the name of the first, which has to be spelled like this.
  static bool is_named_part(const KnownFile& known) {
    if (!*known.facts || (*known.facts)->kind != FileKind::model || (*known.facts)->shards == 1) return false;
    const auto shard = parse_shard(known.file.path.stem().native());
    return shard && known.file.path.extension() == ".gguf" && shard->count == (*known.facts)->shards &&
           shard->number == (*known.facts)->shard + 1;
  }

  // By its own name, ignoring other names of the same file.
  void add_to_set(const KnownFile& known) {
    const std::string stem = stem_of(known.file);
    const auto shard = parse_shard(stem);
    if (!*known.facts && shard) broken_sets_.insert(set_key(known.file, *shard));
    if (!is_named_part(known)) return;
    auto& members = sets_[set_key(known.file, *shard)];
    const auto is_it = [&](const KnownFile* member) { return member->file.path == known.file.path; };
    if (std::ranges::none_of(members, is_it)) members.push_back(&known);  // it may have been found twice
  }

  // Two sets of the same files are one model. Prefers the set whose names are no links, then the first.
  void join_sets() {
    std::map<std::vector<Inode>, std::vector<const KnownFile*>> whole;
    const auto links = [](const std::vector<const KnownFile*>& members) {
      return std::ranges::any_of(members, [](const KnownFile* known) { return known->file.link; });
    };
    const auto order = [&](const std::vector<const KnownFile*>& members) {
      return std::pair(links(members), members.front());
    };
    for (auto& [key, members] : sets_) {
      std::ranges::sort(members, {}, [](const KnownFile* known) { return (*known->facts)->shard; });
      if (members.size() != (*members.front()->facts)->shards) continue;
      std::vector<Inode> identity;
      for (const KnownFile* known : members) identity.push_back(inode_of(*known));
      const auto [at, fresh] = whole.try_emplace(std::move(identity), members);
      if (!fresh && order(members) < order(at->second)) at->second = members;
    }
    for (const auto& [identity, members] : whole) {
      in_sets_.insert(identity.begin(), identity.end());
      drafts_.push_back({members, set_stem(members.front()->file), {}});
    }
    for (const auto& [key, members] : sets_) {
      if (members.size() != (*members.front()->facts)->shards) report_missing(key, members);
    }
  }

  void sort_out(const KnownFile& known) {
    const FoundFile& file = known.file;
    const std::string stem = stem_of(file);
    if (!*known.facts) {
      problems_.push_back({ModelName(printable(set_stem(file))), file.path, known.facts->error()});
      return;
    }
    const GgufFacts& facts = **known.facts;
    if (facts.kind == FileKind::other && may_be_whisper(file.path)) return;  // .bin files of other programs are ignored
    if (facts.kind != FileKind::model) {
      not_models_.push_back({ModelName(printable(stem)), file.path,
                             Error(make_error_code(errc::not_a_model),
                                   fmt::format("'{}' is {}, not a model", printable_path(file.path), facts.what))});
      if (facts.kind == FileKind::projector) projectors_[scope_of(file)].push_back(&known);
    } else if (facts.shards == 1) {
      drafts_.push_back({{&known}, file.given.empty() ? stem : file.given, {}});
    } else if (!is_named_part(known) && !in_sets_.contains(inode_of(known))) {
      add_problem(set_stem(file), file.path, errc::malformed,
                  fmt::format("'{}' is shard {} of {}: its name must end in '{}.gguf'", printable_path(file.path),
                              facts.shard + 1, facts.shards, shard_stem("", facts.shard + 1, facts.shards)));
    }
  }

  void report_missing(const SetKey& key, const std::vector<const KnownFile*>& members) {
    const std::string stem = set_stem(members.front()->file);
    const std::uint64_t count = (*members.front()->facts)->shards;
    if (broken_sets_.contains(key)) return;  // the broken shard is the better explanation
    // Further names of some parts of a set that is whole.
    if (std::ranges::all_of(members, [&](const KnownFile* known) { return in_sets_.contains(inode_of(*known)); }))
      return;
    std::set<std::uint64_t> have;
    for (const KnownFile* known : members) have.insert((*known->facts)->shard);
    std::vector<std::string> missing;
    for (std::uint64_t i = 0; i < count && missing.size() < 3; ++i) {
      if (!have.contains(i)) missing.push_back(fmt::format("'{}.gguf'", printable(shard_stem(stem, i + 1, count))));
    }
    add_problem(stem, members.front()->file.path, errc::missing_shard,
                fmt::format("'{}' lacks {} of its {} files: {}{}", printable(stem), count - members.size(), count,
                            fmt::join(missing, ", "), count - members.size() > missing.size() ? ", ..." : ""));
  }

  // Adds names of links to the file that a model is loaded by.
  void add_link_names() {
    std::map<Inode, Draft*> by_inode;
    std::set<const KnownFile*> named;
    for (Draft& draft : drafts_) {
      by_inode.try_emplace(inode_of(draft.first()), &draft);
      named.insert(&draft.first());
    }
    for (const KnownFile& known : files_) {
      const auto draft = by_inode.find(inode_of(known));
      if (draft == by_inode.end() || named.contains(&known)) continue;
      const auto names = wanted_names(known.file, set_stem(known.file), draft->second->facts().traits);
      auto& aliases = draft->second->aliases;
      aliases.push_back(names.brief);
      // In the hub, each name of a file is one that can be downloaded.
      if (!known.file.repo.empty()) aliases.insert(aliases.end(), {names.exact, names.explicit_});
    }
  }

  std::vector<ModelInfo> build() {
    std::vector<WantedNames> wanted;
    std::map<std::string, std::set<std::string>> families;  // of the llms in each scope
    for (const Draft& draft : drafts_) {
      wanted.push_back(wanted_names(draft.first().file, draft.stem, draft.facts().traits));
      if (draft.facts().type == ModelType::llm) families[scope_of(draft.first().file)].insert(family_of(draft.stem));
    }
    const std::vector<std::string> names = assign_names(wanted);
    std::vector<ModelInfo> models;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      ModelInfo model = describe(drafts_[i]);
      model.name = ModelName(names[i]);
      const std::string& repo = drafts_[i].first().file.repo;
      if (!repo.empty() && !address_host_of(repo))
        model.checkpoint = repo.starts_with(kOllamaRepos) ? wanted[i].exact : names[i];
      if (names[i] != wanted[i].brief) model.aliases.emplace_back(wanted[i].brief);
      if (!repo.empty()) {
        for (const std::string& name : {printable(drafts_[i].stem), wanted[i].exact, wanted[i].explicit_}) {
          if (name != names[i]) model.aliases.emplace_back(name);
        }
      }
      add_whisper_name(model, drafts_[i].stem);
      const bool only = model.type == ModelType::llm && families[scope_of(drafts_[i].first().file)].size() == 1;
      attach_projector(model, drafts_[i], only);
      model.labels = labels_of(model);
      models.push_back(std::move(model));
    }
    name_repositories(models);
    return models;
  }

  // "ggml-base.en" is what the file is called, after its format.
  static void add_whisper_name(ModelInfo& model, std::string_view stem) {
    constexpr std::string_view kFormat = "ggml-";
    if (model.type != ModelType::transcription || !stem.starts_with(kFormat) || stem.size() == kFormat.size()) return;
    model.aliases.emplace_back(printable(fmt::format("whisper-{}", stem.substr(kFormat.size()))));
  }

  ModelInfo describe(const Draft& draft) const {
    ModelInfo model;
    std::uint64_t size = 0;
    std::uint64_t parameters = 0;
    std::optional<WeightBytes> weights = WeightBytes();
    model.type = draft.facts().type;
    model.recipe = draft.facts().recipe;
    model.traits = draft.facts().traits;
    for (const KnownFile* known : draft.files) {
      const GgufFacts& facts = **known->facts;
      model.paths.push_back(known->file.path);
      model.stamps.push_back(known->file.stamp);
      size += known->file.stamp.size;
      parameters += facts.traits.parameters.value_or(0);
      weights = sum_of(weights, facts.traits.weights);
      if (model.traits.quantisation.empty()) model.traits.quantisation = facts.traits.quantisation;
      if (facts.type == ModelType::reranking) model.type = ModelType::reranking;  // the head lies in a later shard
    }
    model.traits.parameters = parameters;
    model.traits.weights = weights;
    model.checkpoint = printable_path(model.paths.front());
    model.size = Bytes(size);
    if (const BesideModel* const beside = draft.first().beside) {
      model.parameters = beside->parameters;
      model.adapter = beside->adapter;
    }
    model.created = WallTime(
        std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(draft.first().file.stamp.modified)));
    for (const std::string& alias : draft.aliases) model.aliases.emplace_back(alias);
    return model;
  }

  void attach_projector(ModelInfo& model, const Draft& draft, bool only_family) const {
    if (model.type == ModelType::transcription) return;
    const auto beside = projectors_.find(scope_of(draft.first().file));
    if (beside == projectors_.end()) return;
    std::vector<ProjectorChoice> choices;
    for (const KnownFile* known : beside->second) choices.push_back({stem_of(known->file)});
    const auto chosen = choose_projector(draft.stem, only_family, choices);
    if (!chosen) return;
    const KnownFile& projector = *beside->second[*chosen];
    model.mmproj = projector.file.path;
    model.stamps.push_back(projector.file.stamp);
    model.size = Bytes(model.size.value() + projector.file.stamp.size);
    model.traits.vision = (*projector.facts)->traits.vision;
    model.traits.audio = (*projector.facts)->traits.audio;
  }

  // "org/repo" alone stands for one of its models: Q4_K_M, else Q8_0, else the first.
  void name_repositories(std::vector<ModelInfo>& models) const {
    constexpr std::array<std::string_view, 2> kUsual{":Q4_K_M", ":Q8_0"};
    const auto rank = [&](const ModelInfo& model) {
      const auto ends = [&](std::string_view variant) { return model.name.value().ends_with(variant); };
      return std::ranges::find_if(kUsual, ends) - kUsual.begin();
    };
    std::map<std::string, ModelInfo*> chosen;
    for (std::size_t i = 0; i < models.size(); ++i) {
      const std::string& repo = drafts_[i].first().file.repo;
      // A name alone means a tag in Ollama's registry; a model from an address has only its file name.
      if (repo.empty() || repo.starts_with(kOllamaRepos) || address_host_of(repo)) continue;
      const auto [at, fresh] = chosen.try_emplace(repo, &models[i]);
      if (!fresh && rank(models[i]) < rank(*at->second)) at->second = &models[i];
    }
    for (const auto& [repo, model] : chosen) model->aliases.emplace_back(printable(repo));
  }

  const std::vector<KnownFile>& files_;

  std::vector<std::size_t> primary_;  // by file: the index of the file it is the same as, often itself
  std::vector<Draft> drafts_;
  std::map<SetKey, std::vector<const KnownFile*>> sets_;
  std::set<SetKey> broken_sets_;
  std::set<Inode> in_sets_;                                          // files of whole sets
  std::map<std::string, std::vector<const KnownFile*>> projectors_;  // by scope
  std::vector<Problem> problems_;
  std::vector<Problem> not_models_;
};

}  // namespace

Catalog assemble(const std::vector<KnownFile>& files, std::vector<Problem> problems) {
  return Assembler(files, std::move(problems)).run();
}

}  // namespace corral::models
