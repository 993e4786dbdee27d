#include "downloads/ollama_registry.h"

#include <algorithm>
#include <array>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/secret.h"
#include "base/sha256.h"
#include "base/state_file.h"
#include "downloads/errors.h"
#include "json/peek.h"
#include "json/value.h"
#include "models/hub_cache.h"

namespace corral::downloads {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kManifest = "application/vnd.docker.distribution.manifest.v2+json";
constexpr std::string_view kLayer = "application/vnd.ollama.image.";
constexpr std::string_view kDigest = "sha256:";
constexpr std::size_t kMostLayers = 100;
constexpr std::int64_t kMostSize = std::int64_t{1} << 50;
constexpr std::size_t kMostParams = 1 << 20;

// Kinds of layers, and what their files are called: before and behind the model's own stem.
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
  return fail(errc::upstream_malformed, fmt::format("the manifest of '{}' makes no sense: {}", name, what));
}

// Parameters that options of a load have another name for.
constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
    {"num_ctx", "ctx_size"},  {"num_gpu", "gpu_layers"}, {"num_thread", "threads"},
    {"main_gpu", "main_gpu"}, {"use_mmap", "mmap"},      {"use_mlock", "mlock"},
};

}  // namespace

Result<std::vector<TreeFile>> read_manifest(std::string_view text, std::string_view name, std::string_view tag) {
  const auto peek = json::Peek::open(std::string(text));
  if (!peek) return malformed(name, peek.error().message);
  const json::View layers = peek->root().find("layers");
  if (!layers.is_array()) return malformed(name, "it lists no layers");
  const std::string stem = fmt::format("{}-{}", name.substr(name.rfind('/') + 1), tag);
  std::vector<TreeFile> files;
  std::map<std::string_view, std::size_t> seen;
  std::string wrong;
  bool tensors = false;
  std::size_t count = 0;
  layers.each_element([&](const json::View& layer) {
    if (++count > kMostLayers) return;
    const std::string type(layer.find("mediaType").as_string()), digest(layer.find("digest").as_string());
    if (!type.starts_with(kLayer)) return;
    const std::string_view kind = std::string_view(type).substr(kLayer.size());
    tensors = tensors || kind == "tensor";
    const auto* const row = std::ranges::find(kLayers, kind, &LayerRow::kind);
    if (row == kLayers.end()) return;
    const json::View size = layer.find("size");
    const std::string_view oid = digest.starts_with(kDigest) ? std::string_view(digest).substr(kDigest.size()) : "";
    if (oid.size() != 64 || !is_safe_oid(oid) || size.kind() != json::Kind::integer || size.as_integer() < 0 ||
        size.as_integer() > kMostSize) {
      wrong = fmt::format("its layer '{}' has no hash or no size", kind);
      return;
    }
    // Of several (licences, say) each has a number but the first.
    const std::size_t number = ++seen[row->kind];
    const std::string more = number > 1 ? fmt::format("-{}", number) : "";
    files.push_back({.path = fmt::format("{}{}{}{}", row->before, stem, more, row->behind),
                     .size = static_cast<std::uint64_t>(size.as_integer()),
                     .oid = std::string(oid),
                     .hash = HashKind::sha256});
  });
  if (!wrong.empty()) return malformed(name, wrong);
  if (seen["model"] != 1) {
    const std::string_view why = tensors ? "it holds single tensors" : seen["model"] > 1 ? "it has several" : "none";
    return fail(errc::file_not_found,
                fmt::format("'{}:{}' of Ollama's registry has no GGUF file that could be served ({}): "
                            "name a repository of the hub (org/repo) that has the model",
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
  Asked asked{.repo = name, .revision = tag, .what = "the manifest", .endpoint = registry};
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

config::LoadOptions options_of_params(std::string_view text) {
  config::LoadOptions options;
  const auto root = text.size() > kMostParams ? std::nullopt : std::optional(json::parse(text));
  if (!root || !*root || !(*root)->is_object()) return options;
  for (const auto& [theirs, ours] : kOptions) {
    const json::Value* const value = json::find(**root, theirs);
    const config::LoadOption* const option = config::find_load_option(ours);
    if (!value || !option) continue;
    config::LoadOptions with = options;
    if (config::read(*option, *value, with) && config::check(with)) options = std::move(with);
  }
  return options;
}

config::LoadOptions options_of(const fs::path& model) {
  config::LoadOptions options;
  // …/models--ollama.com--library--x/snapshots/COMMIT/x-1b.gguf
  const fs::path root = model.parent_path().parent_path().parent_path();
  const auto repo = models::hub_repo_of(root.filename().native());
  if (!repo || !repo->starts_with(models::kOllamaRepos)) return options;
  const fs::path stem = model.parent_path() / model.stem();
  if (const auto text = read_state_file(stem.native() + ".params.json"); text && *text)
    options = options_of_params(**text);
  std::error_code ignored;
  const fs::path adapter = stem.native() + "-lora.gguf";
  if (fs::exists(adapter, ignored)) options.lora = std::vector<std::string>{adapter.native()};
  return options;
}

}  // namespace corral::downloads
