#include "downloads/hub/ollama_registry.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/secret.h"
#include "base/sha256.h"
#include "downloads/errors.h"
#include "json/peek.h"
#include "models/scan/hub_cache.h"

namespace corral::downloads {
namespace {

constexpr std::string_view kManifest = "application/vnd.docker.distribution.manifest.v2+json";
constexpr std::string_view kLayer = "application/vnd.ollama.image.";
constexpr std::string_view kDigest = "sha256:";
constexpr std::int64_t kMaxSize = std::int64_t{1} << 50;

// Kinds of layers, and the names of their files: text before and after the model's stem.
struct LayerRow {
  std::string_view kind, before, behind;
};
constexpr std::array kLayers{
    LayerRow{"model", "", ".gguf"},
    LayerRow{"projector", "mmproj-", ".gguf"},
    LayerRow{"adapter", "", "-lora.gguf"},
    LayerRow{"params", "", ".params.json"},
    LayerRow{"template", "", ".template.txt"},
    LayerRow{"system", "", ".system.txt"},
    LayerRow{"messages", "", ".messages.json"},
    LayerRow{"license", "", ".license.txt"},
};

std::unexpected<Error> malformed(std::string_view name, std::string_view what) {
  return fail(errc::upstream_malformed, fmt::format("the manifest of '{}' is invalid: {}", name, what));
}

// Of several layers of a kind (licences) all but the first have a number.
std::string name_of(const LayerRow& row, std::string_view stem, std::size_t number) {
  const std::string more = number > 1 ? fmt::format("-{}", number) : "";
  return fmt::format("{}{}{}{}", row.before, stem, more, row.behind);
}

}  // namespace

Result<std::vector<TreeFile>> read_manifest(std::string_view text, std::string_view name, std::string_view tag) {
  const auto peek = json::Peek::open(std::string(text));
  if (!peek) return malformed(name, peek.error().message);
  const json::View layers = peek->root().find("layers");
  if (!layers.is_array()) return malformed(name, "it has no layers");
  const std::string stem = fmt::format("{}-{}", name.substr(name.rfind('/') + 1), tag);
  std::vector<TreeFile> files;
  std::map<std::string_view, std::size_t> seen;
  std::string wrong;
  bool tensors = false;
  std::size_t count = 0;
  layers.each_element([&](const json::View& layer) {
    if (++count > kMaxLayers) return;
    const std::string type(layer.find("mediaType").as_string()), digest(layer.find("digest").as_string());
    if (!type.starts_with(kLayer)) return;
    const std::string_view kind = std::string_view(type).substr(kLayer.size());
    tensors = tensors || kind == "tensor";
    const auto* const row = std::ranges::find(kLayers, kind, &LayerRow::kind);
    if (row == kLayers.end()) return;
    const json::View size = layer.find("size");
    const std::string_view oid = digest.starts_with(kDigest) ? std::string_view(digest).substr(kDigest.size()) : "";
    if (oid.size() != 64 || !is_safe_oid(oid) || size.kind() != json::Kind::integer || size.as_integer() < 0 ||
        size.as_integer() > kMaxSize) {
      wrong = fmt::format("its layer '{}' has no hash or no size", kind);
      return;
    }
    files.push_back({.path = name_of(*row, stem, ++seen[row->kind]),
                     .size = static_cast<std::uint64_t>(size.as_integer()),
                     .oid = std::string(oid),
                     .hash = HashKind::sha256});
  });
  if (!wrong.empty()) return malformed(name, wrong);
  if (seen["model"] != 1) {
    const std::string_view why = tensors             ? "it consists of single tensors"
                                 : seen["model"] > 1 ? "it has several"
                                                     : "none";
    return fail(errc::file_not_found, fmt::format("'{}:{}' of Ollama's registry has no supported GGUF file ({}): use a "
                                                  "repository of the hub (org/repo) that has the model",
                                                  name, tag, why));
  }
  const std::string model = stem + ".gguf";
  const auto at = std::ranges::find(files, model, &TreeFile::path);
  std::rotate(at, at + 1, files.end());
  return files;
}

async::Task<Result<Listing>> list_ollama(Hub& hub, std::string name, std::string tag) {
  const std::string& registry = hub.settings().ollama;
  FetchRequest request{.url = fmt::format("{}/v2/{}/manifests/{}", registry, name, escape_path(tag))};
  request.accept = kManifest;
  Asked asked{.repo = name, .revision = tag, .is_file = false, .endpoint = registry};
  asked.endpoint_variable = kOllamaVariable;
  auto answer = co_await hub.ask(std::move(request), std::move(asked));
  if (!answer) {
    const auto& code = answer.error().code;
    if (code == errc::model_not_found || code == errc::file_not_found || code == errc::token_refused)
      co_return fail(errc::model_not_found,
                     fmt::format("Ollama's registry ({}) has no model '{}:{}'", registry, name, tag));
    co_return std::unexpected(std::move(answer.error()));
  }
  auto files = read_manifest(answer->body, name, tag);
  if (!files) co_return std::unexpected(std::move(files.error()));
  Listing listing{.repo = fmt::format("{}{}", models::kOllamaRepos, name),
                  .revision = tag,
                  .at = {.commit = to_hex(sha256({answer->body})).substr(0, 40)},
                  .tree = std::move(*files),
                  .source = SourceKind::ollama};
  co_return listing;
}

std::vector<std::string> names_beside(std::string_view stem, std::size_t number) {
  std::vector<std::string> names;
  for (const LayerRow& row : kLayers)
    if (row.kind != "model" && row.kind != "projector") names.push_back(name_of(row, stem, number));
  return names;
}

}  // namespace corral::downloads
