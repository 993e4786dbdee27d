#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/download_wire.h"
#include "cli/terminal/format.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

struct RemovalRequest {
  std::string model;
  bool dry_run = false;
  bool models_dir = false;
};

std::string removal_body(const RemovalRequest& request) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("model_name", request.model);
  if (request.dry_run) out.field("dry_run", true);
  if (request.models_dir) out.field("models_dir", true);
  out.end_object();
  return text;
}

// Only the client's name is removed: the model keeps other names, and the file stays with its owner.
std::string name_text(const RemovalRequest& request, const std::string& target) {
  const bool file = target.starts_with('/');
  const auto kept = file ? fmt::format("the file {} stays", target)
                         : fmt::format("'{}' stays. Remove it with: corral rm {}", target, shell_word(target));
  return fmt::format("'{}' is a name of '{}'. Only the name {}; {}\n", request.model, target,
                     request.dry_run ? "would go" : "is gone", kept);
}

Result<int> remove_model(const RemovalRequest& request, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/delete", removal_body(request)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto removal = parse_removal(*text);
  if (!removal) return std::unexpected(removal.error());
  if (!removal->name_of.empty()) {
    context.terminal.out << printable(name_text(request, removal->name_of));
    return kExitOk;
  }
  for (const auto& [path, needed_by] : removal->kept) {
    if (needed_by.empty()) {
      context.terminal.err << printable(fmt::format("{} stays: it does not belong to corral\n", path));
      continue;
    }
    const auto line = fmt::format("{} {}: {} {} it\n", path, request.dry_run ? "would stay" : "stays",
                                  fmt::join(needed_by, ", "), needed_by.size() == 1 ? "needs" : "need");
    context.terminal.err << printable(line);
  }
  auto& out = context.terminal.out;
  const auto& model = removal->model_name.empty() ? request.model : removal->model_name;
  if (request.dry_run) {
    out << printable(fmt::format("Removing {} would free {}\n", model, human_bytes(removal->freed)));
    for (const auto& file : removal->files) out << printable(fmt::format("  {}\n", file));
    return kExitOk;
  }
  out << printable(fmt::format("{} is removed; {} are free again\n", model, human_bytes(removal->freed)));
  return kExitOk;
}

}  // namespace

Action declare_rm(CLI::App& app) {
  const auto request = std::make_shared<RemovalRequest>();
  app.add_option("MODEL", request->model, "Model to remove; files that other models need stay")
      ->required()
      ->type_name("");
  app.add_flag("--dry-run", request->dry_run, "Show the space that would be freed, and remove nothing");
  app.add_flag("--models-dir", request->models_dir, "Also remove files in folders of models_dir");
  return [request](CommandContext& context) { return remove_model(*request, context); };
}

}  // namespace corral::cli
