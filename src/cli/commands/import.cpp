// A file is taken over by the server: a link or a copy of it in corral's own folder. Models of Ollama and of LM Studio
// stay where they are: their folders become some of import_folders.
#include <algorithm>
#include <filesystem>
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

namespace fs = std::filesystem;

struct ImportWish {
  std::string what;
  std::string name;
  std::string folder;
  bool copy = false;
};

Result<int> import_file(const ImportWish& wish, Context& context) {
  const auto path = fs::absolute(wish.what).lexically_normal();
  std::string body;
  json::Writer out(body);
  out.begin_object().field("path", path.native());
  if (!wish.name.empty()) out.field("model_name", wish.name);
  if (wish.copy) out.field("copy", true);
  out.end_object();
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/import", body));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto imported = parse_imported(*text);
  if (!imported) return std::unexpected(imported.error());
  const auto how = imported->how == "copy" ? "copied" : "linked, which takes no room";
  const auto line = fmt::format("{} is here ({}, {})\n", imported->model_name, human_bytes(imported->bytes), how);
  context.terminal.out << printable(line);
  return kExitOk;
}

// The setting as it is now, and whether a restart begins with another one.
Result<std::string> folders_now(Context& context) {
  const auto text = fetch(context.api, ApiRequest::get("/internal/config"));
  if (!text) return std::unexpected(text.error());
  const auto settings = parse_settings(*text);
  if (!settings) return std::unexpected(settings.error());
  const auto row = std::ranges::find(settings->rows, "import_folders", &Setting::key);
  return row == settings->rows.end() ? std::string() : row->value;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find_first_of(" ,", at), text.size());
    if (text.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

Result<int> import_folder(const ImportWish& wish, Context& context) {
  auto word = wish.what;
  if (!wish.folder.empty()) word += "=" + fs::absolute(wish.folder).lexically_normal().native();
  if (word.find_first_of(" ,", 0) != word.npos)
    return fail(errc::usage,
                fmt::format("'{}' has blanks or commas, which the setting import_folders can't hold", word));
  auto folders = folders_now(context);
  if (!folders) return std::unexpected(folders.error());
  const auto printed = [&](std::string_view text) {
    context.terminal.out << printable(fmt::format("the models of {} are listed {}; see corral list\n", word, text));
    return kExitOk;
  };
  if (has_word(*folders, word) && !context.json) return printed("already");
  if (!has_word(*folders, word)) *folders += folders->empty() ? word : " " + word;
  const auto body = text_object({{"import_folders", *folders}});
  const auto text = fetch(context.api, ApiRequest::post("/internal/set", body));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  return printed("where they are");
}

Result<int> import_models(const ImportWish& wish, Context& context) {
  const bool foreign = wish.what == "ollama" || wish.what == "lmstudio";
  if (!foreign && !wish.folder.empty()) return fail(errc::usage, "--dir is for ollama and lmstudio");
  if (foreign && (!wish.name.empty() || wish.copy)) return fail(errc::usage, "--name and --copy are for one file");
  return foreign ? import_folder(wish, context) : import_file(wish, context);
}

}  // namespace

Action declare_import(CLI::App& app) {
  const auto wish = std::make_shared<ImportWish>();
  app.add_option("WHAT", wish->what, "A GGUF file of the server's machine, or ollama, or lmstudio")
      ->required()
      ->type_name("");
  app.add_option("--name", wish->name, "What a file is to be called")->type_name("NAME");
  app.add_flag("--copy", wish->copy, "Copy a file also where a link would do");
  app.add_option("--dir", wish->folder, "Where the models of ollama or lmstudio are, if not where they usually are")
      ->type_name("DIR");
  return [wish](Context& context) { return import_models(*wish, context); };
}

}  // namespace corral::cli
