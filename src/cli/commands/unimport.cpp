// Undoes `import ollama` and `import lmstudio`: the server no longer lists these models. Their files stay.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/own_file.h"

namespace corral::cli {
namespace {

constexpr const char* kFolders = "import_folders";

struct UnimportRequest {
  std::string program, folder;
};

// Of import_folders: "ollama", or "ollama=/folder".
bool is_meant(const UnimportRequest& request, std::string_view word) {
  if (!request.folder.empty())
    return word == request.program + "=" + std::filesystem::absolute(request.folder).lexically_normal().native();
  return word == request.program || word.starts_with(request.program + "=");
}

Result<int> unimport(const UnimportRequest& request, CommandContext& context) {
  if (request.program != "ollama" && request.program != "lmstudio")
    return fail(errc::usage, fmt::format("'{}' is not ollama or lmstudio; an imported file is a model, which corral rm "
                                         "{} removes",
                                         request.program, shell_word(request.program)));
  const auto now = settings_now(context);
  if (!now) return std::unexpected(now.error());
  const auto* row = now->find(kFolders);
  const std::string before = row != nullptr ? row->value : std::string();
  std::vector<std::string> stay, leave;
  for (std::size_t at = 0; at < before.size();) {
    const auto end = std::min(before.find_first_of(" ,", at), before.size());
    const auto word = before.substr(at, end - at);
    if (!word.empty()) (is_meant(request, word) ? leave : stay).push_back(word);
    at = end + 1;
  }
  if (leave.empty()) {
    const auto& folder = request.folder;
    return fail(errc::usage, fmt::format("models of {}{} are not imported; import_folders is '{}'", request.program,
                                         folder.empty() ? "" : " in " + folder, before));
  }
  const auto answer = set_guarded(context, *now, kFolders, fmt::format("{}", fmt::join(stay, " ")));
  if (!answer) return std::unexpected(answer.error());
  if (context.json) return print_json(context, *answer);
  context.terminal.out << printable(
      fmt::format("the server no longer lists models of {}; their files stay\n", fmt::join(leave, ", ")));
  return kExitOk;
}

}  // namespace

Action declare_unimport(CLI::App& app) {
  const auto request = std::make_shared<UnimportRequest>();
  app.add_option("WHAT", request->program, "ollama or lmstudio")->required()->type_name("");
  app.add_option("--dir", request->folder, "Only this folder; default: all of the program")->type_name("DIR");
  return [request](CommandContext& context) { return unimport(*request, context); };
}

}  // namespace corral::cli
