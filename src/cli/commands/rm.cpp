#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/download_wire.h"
#include "cli/errors.h"
#include "cli/format.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

struct RemovalWish {
  std::string model;
  bool dry_run = false;
  bool models_dir = false;
};

std::string removal_body(const RemovalWish& wish) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("model_name", wish.model);
  if (wish.dry_run) out.field("dry_run", true);
  if (wish.models_dir) out.field("models_dir", true);
  out.end_object();
  return text;
}

Result<int> remove_model(const RemovalWish& wish, Context& context) {
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/delete", removal_body(wish)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto removal = parse_removal(*text);
  if (!removal) return std::unexpected(removal.error());
  for (const auto& [path, needed_by] : removal->kept) {
    const auto line = fmt::format("{} {}: {} {} it\n", path, wish.dry_run ? "would stay" : "stays",
                                  fmt::join(needed_by, ", "), needed_by.size() == 1 ? "needs" : "need");
    context.terminal.err << printable(line);
  }
  auto& out = context.terminal.out;
  if (wish.dry_run) {
    out << printable(fmt::format("Removing {} would free {}\n", wish.model, human_bytes(removal->freed)));
    for (const auto& file : removal->files) out << printable(fmt::format("  {}\n", file));
    return kExitOk;
  }
  out << printable(fmt::format("{} is removed; {} are free again\n", wish.model, human_bytes(removal->freed)));
  return kExitOk;
}

}  // namespace

Action declare_rm(CLI::App& app) {
  const auto wish = std::make_shared<RemovalWish>();
  app.add_option("MODEL", wish->model, "Which one; files that other models need stay")->required()->type_name("");
  app.add_flag("--dry-run", wish->dry_run, "Say what it would free, and remove nothing");
  app.add_flag("--models-dir", wish->models_dir, "Also where its files lie in a folder of models_dir");
  return [wish](Context& context) { return remove_model(*wish, context); };
}

}  // namespace corral::cli
