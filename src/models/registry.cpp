#include "models/registry.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/path_access.h"
#include "base/state_file.h"
#include "models/errors.h"
#include "models/gguf/gguf_facts.h"
#include "models/gguf/whisper_facts.h"
#include "models/names/aliases.h"
#include "models/scan/assemble.h"
#include "models/scan/file_scan.h"
#include "models/scan/given_files.h"
#include "models/scan/hub_cache.h"

namespace corral::models {

class FactsCache {
 public:
  struct Entry {
    FileStamp stamp;
    Result<GgufFacts> facts;
    BesideModel beside;
  };
  std::unordered_map<std::string, std::shared_ptr<const Entry>> entries;
};

namespace {

Result<GgufFacts> facts_in(const std::filesystem::path& path) {
  auto facts = may_be_whisper(path) ? read_whisper_facts(path) : read_facts(path);
  if (facts || facts.error().code != errc::unreadable) return facts;
  if (const auto problem = find_access_problem(path, this_user())) facts.error().message += ": " + problem->text();
  return facts;
}

// x-1b.params.json and x-1b-lora.gguf beside x-1b.gguf, as downloads/hub/ollama_registry.h names them.
BesideModel beside(const FoundFile& file) {
  constexpr std::size_t kMaxParameters = 64 << 10;  // bytes; each list of models reads them
  BesideModel beside;
  if (!file.repo.starts_with(kOllamaRepos)) return beside;
  const std::string stem = (file.path.parent_path() / file.path.stem()).native();
  if (auto text = read_state_file(stem + ".params.json", kMaxParameters + 1);
      text && *text && (*text)->size() <= kMaxParameters)
    beside.parameters = std::move(**text);
  std::error_code ignored;
  if (std::filesystem::path adapter = stem + "-lora.gguf"; std::filesystem::exists(adapter, ignored))
    beside.adapter = std::move(adapter);
  return beside;
}

// A file that could not be opened may become readable without a change.
bool may_heal(const Result<GgufFacts>& facts) {
  return !facts && (facts.error().code == errc::unreadable || facts.error().code == errc::file_not_found);
}

std::shared_ptr<const FactsCache::Entry> remembered(const FactsCache* cache, const FoundFile& file) {
  if (!cache) return nullptr;
  const auto found = cache->entries.find(file.path.native());
  if (found == cache->entries.end()) return nullptr;
  const FactsCache::Entry& entry = *found->second;
  return entry.stamp == file.stamp && !may_heal(entry.facts) ? found->second : nullptr;
}

}  // namespace

Scan scan(const RegistryOptions& options, const std::shared_ptr<const FactsCache>& cache) {
  const UserModels user = options.given ? UserModels()
                                        : with_configured(read_user_models(options.user_models, options.recipes),
                                                          options.configured, options.recipes);
  RegistryOptions places = options;
  if (options.given) {
    places.models_dirs.clear();
    if (!options.given->file.empty()) places.models_dirs = files_of_given(options.given->file);
    places.hub_cache.clear();
  }
  std::ranges::move(files_of(user), std::back_inserter(places.models_dirs));
  FoundFiles found = find_files(places);
  auto fresh = std::make_shared<FactsCache>();
  ScanStats stats{found.files.size(), 0};
  std::vector<KnownFile> known;
  known.reserve(found.files.size());
  for (FoundFile& file : found.files) {
    // The entries outlive `known`: `fresh` holds them. A file that was found twice has one.
    std::shared_ptr<const FactsCache::Entry>& entry = fresh->entries[file.path.native()];
    if (!entry) entry = remembered(cache.get(), file);
    if (!entry) {
      ++stats.opened;
      entry = std::make_shared<const FactsCache::Entry>(file.stamp, facts_in(file.path), beside(file));
    }
    known.push_back({std::move(file), &entry->facts, &entry->beside});
  }
  auto assembled = assemble(known, std::move(found.problems));
  auto all = options.given ? as_given(assembled, *options.given)
                           : add_user_models(std::move(assembled), user, options.recipes);
  if (!options.given) all = add_aliases(std::move(all), read_aliases(options.aliases));
  if (!options.given) all = add_installed(std::move(all), options.installed, options.recipes);
  if (!options.given) all = add_known_names(std::move(all), options.known_names);
  auto catalog = std::make_shared<const Catalog>(std::move(all));
  return {std::move(catalog), std::move(fresh), stats};
}

Registry::Registry(RegistryOptions options)
    : options_(std::move(options)), last_{std::make_shared<const Catalog>(), nullptr, {}} {}

std::shared_ptr<const Catalog> Registry::catalog() const {
  const MutexLock lock(mutex_);
  return last_.catalog;
}

void Registry::look_at(RegistryOptions options) {
  const MutexLock lock(mutex_);
  options_ = std::move(options);
}

RecipeTable Registry::recipes() const {
  const MutexLock lock(mutex_);
  return options_.recipes;
}

ScanStats Registry::last_stats() const {
  const MutexLock lock(mutex_);
  return last_.stats;
}

std::shared_ptr<const Catalog> Registry::rescan() {
  RegistryOptions options;
  std::shared_ptr<const FactsCache> cache;
  {
    const MutexLock lock(mutex_);
    options = options_;
    cache = last_.cache;
  }
  Scan next = scan(options, cache);
  log::debug("models", "{} models, {} problems; {} files, {} of them read", next.catalog->models().size(),
             next.catalog->problems().size(), next.stats.files, next.stats.opened);
  const MutexLock lock(mutex_);
  last_ = std::move(next);
  return last_.catalog;
}

}  // namespace corral::models
