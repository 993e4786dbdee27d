#include "fleet/membership/start_record.h"

#include "base/log.h"
#include "base/state_file.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::fleet {

StartRecord record_of(const NodeOptions& options) {
  StartRecord record{.worker = options.role == mesh::Role::worker};
  if (!options.wants_of_start) return record;
  record.assigned = options.assigned_at_start;
  for (const auto& wanted : options.wants) record.models.push_back(wanted.name);
  return record;
}

NodeOptions with_record(NodeOptions options, const StartRecord& record) {
  if (options.role_is_open && record.worker) options.role = mesh::Role::worker;
  if (!options.wants.empty()) return options;
  for (const auto& model : record.models)
    for (auto& wanted : parse_wants(model)) options.wants.push_back(std::move(wanted));
  options.assigned_at_start = record.assigned;
  return options;
}

std::string to_text(const StartRecord& record) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("version", 1).field("worker", record.worker).field("assigned", record.assigned);
  out.key("models").begin_array();
  for (const auto& model : record.models) out.value(model);
  out.end_array().end_object();
  return text + '\n';
}

std::optional<StartRecord> parse_start(std::string_view text) {
  const auto parsed = json::parse(text);
  if (!parsed || json::number_or(*parsed, "version", 0) != 1) return std::nullopt;
  StartRecord record{.worker = json::bool_or(*parsed, "worker", false),
                     .assigned = std::string(json::text_or(*parsed, "assigned", ""))};
  const auto* models = json::find(*parsed, "models");
  if (models == nullptr || !models->is_array()) return record;
  for (const auto& model : models->get_array())
    if (model.is_string()) record.models.emplace_back(std::string_view(model.get_string()));
  return record;
}

std::optional<StartRecord> read_start(const std::filesystem::path& folder) {
  const auto text = read_state_file(folder / kStartFile);
  if (!text) log::warning("mesh", "can't read with which role this node joined: {}", text.error().message);
  if (!text || !*text) return std::nullopt;
  auto record = parse_start(**text);
  if (!record)
    log::warning("mesh",
                 "{} is damaged: the role and the models that this node joined with are unknown; set mesh_role and "
                 "mesh_models",
                 (folder / kStartFile).native());
  return record;
}

void keep_start(const std::filesystem::path& folder, const StartRecord& record) {
  if (const auto kept = write_state_file(folder / kStartFile, to_text(record), Durability::power_loss); !kept)
    log::error("mesh", "can't save the role of this node, a restart without --join changes it: {}",
               kept.error().message);
}

}  // namespace corral::fleet
