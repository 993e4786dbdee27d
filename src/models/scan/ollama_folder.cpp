#include "models/scan/ollama_folder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/state_file.h"
#include "json/value.h"
#include "models/text.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxManifest = 1 << 20;
constexpr std::string_view kOwnHost = "registry.ollama.ai";
constexpr std::string_view kOwnUser = "library";

// "sha256:HEX" as the name of a blob.
std::optional<std::string> blob_name(std::string_view digest) {
  constexpr std::string_view kKind = "sha256:";
  if (!digest.starts_with(kKind) || digest.size() != kKind.size() + 64) return std::nullopt;
  digest.remove_prefix(kKind.size());
  const bool sound =
      std::ranges::all_of(digest, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return sound ? std::optional(fmt::format("sha256-{}", digest)) : std::nullopt;
}

std::string shown_name(const fs::path& host, const fs::path& user, const fs::path& model, const fs::path& tag) {
  std::string name = printable(model.native());
  if (host != kOwnHost) {
    name = printable((host / user / model).native());
  } else if (user != kOwnUser) {
    name = printable((user / model).native());
  }
  return tag == "latest" ? name : fmt::format("{}:{}", name, printable(tag.native()));
}

// Folders, or files, in one folder.
class Listed {
 public:
  explicit Listed(std::size_t max) : left_(max) {}
  std::vector<fs::path> in(const fs::path& folder, bool folders) {
    std::vector<fs::path> found;
    std::error_code failure;
    for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
      if (left_ == 0) break;
      --left_;
      std::error_code ignored;
      const bool fits = folders ? it->is_directory(ignored) : it->is_regular_file(ignored);
      if (fits && !it->path().filename().native().starts_with('.')) found.push_back(it->path());
    }
    return found;
  }

 private:
  std::size_t left_;
};

}  // namespace

OllamaModel read_ollama_manifest(std::string_view text, const fs::path& folder) {
  OllamaModel model;
  const auto parsed = json::parse(text);
  const auto* layers = parsed ? json::find(*parsed, "layers") : nullptr;
  if (layers == nullptr || !layers->is_array()) return model;
  for (const auto& layer : layers->get_array()) {
    const auto blob = blob_name(json::text_or(layer, "digest", ""));
    if (!blob) continue;
    const auto type = json::text_or(layer, "mediaType", "");
    const fs::path file = folder / "blobs" / *blob;
    if (type == "application/vnd.ollama.image.model") {
      if (model.weights.empty()) model.weights = file;
    } else if (type == "application/vnd.ollama.image.projector" || type == "application/vnd.ollama.image.adapter") {
      model.others.push_back(file);
    }
  }
  return model;
}

std::vector<OllamaModel> ollama_models(const fs::path& folder, std::size_t max) {
  std::vector<OllamaModel> models;
  Listed listed(max);
  for (const auto& host : listed.in(folder / "manifests", true)) {
    for (const auto& user : listed.in(host, true)) {
      for (const auto& name : listed.in(user, true)) {
        for (const auto& tag : listed.in(name, false)) {
          const auto text = read_state_file(tag, kMaxManifest).value_or(std::nullopt);
          auto model = read_ollama_manifest(text.value_or(""), folder);
          if (model.weights.empty()) continue;
          model.name = shown_name(host.filename(), user.filename(), name.filename(), tag.filename());
          models.push_back(std::move(model));
        }
      }
    }
  }
  std::ranges::sort(models, {}, &OllamaModel::name);
  return models;
}

}  // namespace corral::models
