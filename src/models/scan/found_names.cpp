#include "models/scan/found_names.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "models/gguf/gguf_types.h"
#include "models/scan/hub_cache.h"
#include "models/text.h"

namespace corral::models {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kOllamaLibrary = "library/";

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

// As the file's name says, else its folder's, else its metadata.
std::string hub_variant(const FoundFile& file, const std::string& stem, const ModelTraits& traits) {
  if (const auto name = split_quantisation(stem); !name.quantisation.empty()) return upper(name.quantisation);
  const std::string folder = file.relative.parent_path().filename().native();
  if (is_quantisation(folder)) return upper(folder);
  return traits.quantisation.empty() ? printable(stem) : traits.quantisation;
}

// "x:1b", as Ollama calls it, "ollama.com/library/x:1b" and the place. "latest" is what no tag means.
WantedNames ollama_names(const FoundFile& file, const std::string& stem, const std::string& place) {
  const std::string repo = printable(file.repo);
  std::string_view name = std::string_view(repo).substr(kOllamaRepos.size());
  if (name.starts_with(kOllamaLibrary)) name.remove_prefix(kOllamaLibrary.size());
  const std::string model(name.substr(name.rfind('/') + 1));
  const bool tagged = stem.starts_with(model + '-');
  const std::string tag = tagged ? printable(stem.substr(model.size() + 1)) : printable(stem);
  const std::string behind = tag == "latest" ? "" : ":" + tag;
  return {std::string(name) + behind, repo + behind, repo + ":" + place};
}

}  // namespace

std::string set_stem(const FoundFile& file) {
  if (!file.given.empty()) return file.given;
  const std::string stem = file.path.stem().native();
  const auto shard = parse_shard(stem);
  return shard ? std::string(shard->set) : stem;
}

WantedNames wanted_names(const FoundFile& file, const std::string& stem, const ModelTraits& traits) {
  if (!file.given.empty()) return {file.given, file.given, file.given};
  const std::string place = printable_path(file.relative.parent_path() / stem);
  if (file.repo.starts_with(kOllamaRepos)) return ollama_names(file, stem, place);
  if (const auto host = address_host_of(file.repo)) {
    const std::string with_host = fmt::format("{}/{}", printable(*host), printable(stem));
    return {printable(stem), with_host, with_host, file.stamp.modified};
  }
  if (!file.repo.empty()) {
    const std::string repo = printable(file.repo) + ":";
    return {repo + hub_variant(file, stem, traits), repo + printable(stem), repo + place};
  }
  const fs::path root = file.root.has_filename() ? file.root.filename() : file.root.parent_path().filename();
  return {printable(stem), place, printable_path(root) + "/" + place};
}

}  // namespace corral::models
