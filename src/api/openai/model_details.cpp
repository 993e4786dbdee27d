#include "api/openai/model_details.h"

#include <utility>

#include "api/supply/supply.h"
#include "base/secret.h"
#include "base/state_file.h"
#include "models/gguf/gguf.h"
#include "models/hash/verifier.h"
#include "models/text.h"

namespace corral::api {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLicence = 256;  // bytes

// Empty if the file was never verified, or has changed since.
std::string verified_hash(const models::KeptHashes& seen, const fs::path& file, models::FileStamp stamp) {
  const auto found = seen.find(file);
  stamp.device = 0;
  return found != seen.end() && found->second.stamp == stamp ? to_hex(found->second.hash) : std::string();
}

models::KeptHashes read_record(const fs::path& record) {
  const auto text = record.empty() ? Result<std::optional<std::string>>() : read_state_file(record);
  auto seen = text && *text ? models::parse_kept_hashes(**text) : std::nullopt;
  return seen ? std::move(*seen) : models::KeptHashes();
}

// Blocking.
ModelDetails read_details(const models::ModelInfo& model, const fs::path& record,
                          const std::vector<models::FileHash>& computed) {
  ModelDetails details;
  const auto seen = read_record(record);
  const auto paths = models::files_of(model);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto stamp = i < model.stamps.size() ? model.stamps[i] : models::FileStamp();
    ModelFile file{.path = paths[i], .bytes = stamp.size, .sha256 = {}};
    if (const auto promised = models::promised_hash(file.path)) {
      file.sha256 = to_hex(*promised);
    } else if (i < computed.size()) {
      file.sha256 = to_hex(computed[i].hash);
    } else {
      file.sha256 = verified_hash(seen, file.path, stamp);
    }
    details.files.push_back(std::move(file));
  }
  if (paths.empty()) return details;
  const auto reader = models::GgufReader::open(paths.front());
  if (!reader) return details;
  const auto& metadata = reader->metadata();
  details.licence = models::printable(metadata.text("general.license").value_or(""), kMaxLicence);
  if (const auto text = metadata.text("tokenizer.chat_template"); text && !text->empty())
    details.chat_template = std::string(*text);
  return details;
}

}  // namespace

async::Task<ModelDetails> details_of(SupplyContext& context, backends::ModelPtr model) {
  auto computed =
      context.files.hashes != nullptr ? context.files.hashes->files_of(*model) : std::vector<models::FileHash>();
  auto record = context.files.verifier != nullptr ? context.files.verifier->record() : fs::path();
  auto work = [model = std::move(model), record = std::move(record), computed = std::move(computed)] {
    return read_details(*model, record, computed);
  };
  auto* const pool = context.supply != nullptr ? &context.supply->download_manager.disk() : context.bodies.threads;
  if (pool == nullptr) co_return work();
  co_return co_await pool->run(std::move(work));
}

void write_details(json::Writer& out, const ModelDetails& details, bool paths) {
  out.key("files").begin_array();
  for (const auto& file : details.files) {
    out.begin_object().field("name", models::printable_path(file.path.filename()));
    if (paths) out.field("path", file.path.native());
    out.field("size_bytes", file.bytes).key("sha256");
    file.sha256.empty() ? out.null() : out.value(file.sha256);
    out.end_object();
  }
  out.end_array().key("licence");
  details.licence.empty() ? out.null() : out.value(details.licence);
  out.key("chat_template");
  details.chat_template ? out.value(*details.chat_template) : out.null();
}

}  // namespace corral::api
