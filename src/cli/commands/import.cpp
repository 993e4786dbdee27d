// Imports a file as a link or a copy in corral's own folder. A configuration of llama-swap becomes models.toml, which
// the server reads at once. Models of Ollama and of LM Studio stay in place: their folders are added to import_folders.
// A key of the scope admin sets it over HTTP; without a key, the user who owns the server sets it in its file.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "backends/external/llama_swap_import.h"
#include "base/state_file.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/own_file.h"
#include "cli/server/download_wire.h"
#include "cli/terminal/format.h"
#include "config/paths.h"
#include "config/sources.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImportFolders = "import_folders";

struct ImportRequest {
  std::string what;
  std::string name;
  std::string folder;
  std::string file;  // of llama-swap
  bool copy = false;
  bool replace = false;
};

Result<int> import_file(const ImportRequest& request, CommandContext& context) {
  const auto path = fs::absolute(request.what).lexically_normal();
  std::string body;
  json::Writer out(body);
  out.begin_object().field("path", path.native());
  if (!request.name.empty()) out.field("model_name", request.name);
  if (request.copy) out.field("copy", true);
  out.end_object();
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/import", body));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto imported = parse_imported(*text);
  if (!imported) return std::unexpected(imported.error());
  const auto how = imported->how == "copy" ? "copied" : "linked, uses no extra space";
  const auto line = fmt::format("{} is imported ({}, {})\n", imported->model_name, human_bytes(imported->bytes), how);
  context.terminal.out << printable(line);
  return kExitOk;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find_first_of(" ,", at), text.size());
    if (text.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

std::string other_way(std::string folders) {
  std::ranges::replace(folders, ' ', ',');
  return "; or start the server with: corral serve --import " + folders;
}

Result<int> import_folder(const ImportRequest& request, CommandContext& context) {
  auto word = request.what;
  if (!request.folder.empty()) word += "=" + fs::absolute(request.folder).lexically_normal().native();
  // A server on another machine has other folders.
  std::error_code ignored;
  if (!request.folder.empty() && is_on_this_machine(context.api) && !fs::is_directory(request.folder, ignored))
    return fail(errc::usage, fmt::format("--dir: '{}' is not a folder; name the folder with the models of {}",
                                         request.folder, request.what));
  if (word.find_first_of(" ,", 0) != word.npos)
    return fail(errc::usage, fmt::format("'{}' has spaces or commas, which import_folders does not support", word));
  const auto now = settings_now(context);
  if (!now) return std::unexpected(now.error());
  const auto* row = now->find(kImportFolders);
  auto folders = row != nullptr ? row->value : std::string();
  const auto printed = [&](std::string_view since) {
    const auto line = fmt::format("the server lists models of {} in place {}; see corral list\n", word, since);
    context.terminal.out << printable(line);
    return kExitOk;
  };
  if (has_word(folders, word) && !context.json) return printed("already");
  if (!has_word(folders, word)) folders += folders.empty() ? word : " " + word;
  const auto answer = set_guarded(context, *now, kImportFolders, folders, other_way(folders));
  if (!answer) return std::unexpected(answer.error());
  return context.json ? print_json(context, *answer) : printed("from now on");
}

// Written beside the configuration file of this command line; needs no server.
Result<int> import_configuration(const ImportRequest& request, CommandContext& context) {
  if (request.file.empty()) return fail(errc::usage, "name the file: corral import llama-swap config.yaml");
  std::error_code ignored;
  const auto yaml = read_state_file(request.file);
  if (!yaml || !*yaml) return fail(errc::usage, fmt::format("'{}' cannot be read", request.file));
  const auto imported = backends::import_llama_swap(**yaml, request.file);
  if (!imported) return fail(errc::usage, imported.error().message);
  const auto paths = config::Paths::from(context.inputs.environment);
  const auto target = config::config_file(context.inputs, paths).path.parent_path() / "models.toml";
  if (fs::exists(target, ignored) && !request.replace)
    return fail(errc::usage,
                fmt::format("{} exists: repeat the command with --replace to replace it", target.native()));
  if (const auto written = write_state_file(target, imported->toml); !written) return std::unexpected(written.error());
  if (context.json) {
    json::Array warnings(imported->warnings.begin(), imported->warnings.end());
    const json::Object answer{{"status", "success"},
                              {"file", target.native()},
                              {"models", imported->models},
                              {"warnings", std::move(warnings)}};
    return print_json(context, json::serialize(json::Value(answer)));
  }
  for (const auto& warning : imported->warnings) context.terminal.err << printable("warning: " + warning) << '\n';
  context.terminal.out << printable(
      fmt::format("{} has {} models now; see corral list\n", target.native(), imported->models));
  return kExitOk;
}

Result<int> import_models(const ImportRequest& request, CommandContext& context) {
  const bool configuration = request.what == "llama-swap";
  if (!configuration && (!request.file.empty() || request.replace))
    return fail(errc::usage, "FILE and --replace work only with llama-swap");
  if (configuration && (!request.name.empty() || request.copy || !request.folder.empty()))
    return fail(errc::usage, "--name, --copy and --dir don't work with llama-swap");
  if (configuration) return import_configuration(request, context);
  const bool foreign = request.what == "ollama" || request.what == "lmstudio";
  if (!foreign && !request.folder.empty()) return fail(errc::usage, "--dir works only with ollama and lmstudio");
  if (foreign && (!request.name.empty() || request.copy))
    return fail(errc::usage, "--name and --copy work only with a file");
  return foreign ? import_folder(request, context) : import_file(request, context);
}

}  // namespace

Action declare_import(CLI::App& app) {
  const auto request = std::make_shared<ImportRequest>();
  app.add_option("WHAT", request->what, "A GGUF file on the server's machine, or ollama, lmstudio or llama-swap")
      ->required()
      ->type_name("");
  app.add_option("FILE", request->file, "Configuration of llama-swap, which becomes models.toml")->type_name("");
  app.add_flag("--replace", request->replace, "Replace models.toml");
  app.add_option("--name,--as", request->name, "Name of the imported model")->type_name("NAME");
  app.add_flag("--copy", request->copy, "Copy the file, even if a hard link is possible");
  app.add_option("--dir", request->folder, "Folder of the models of ollama or lmstudio, if not the usual one")
      ->type_name("DIR");
  return [request](CommandContext& context) { return import_models(*request, context); };
}

}  // namespace corral::cli
