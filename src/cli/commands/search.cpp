#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/pulling.h"
#include "cli/server/url_text.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

struct SearchRequest {
  std::vector<std::string> words;
  int limit = 20;
};

// True: each word occurs in its name, repository, type or labels.
bool matches(const config::KnownModel& model, const std::vector<std::string>& words) {
  const auto all = to_lower(
      fmt::format("{} {} {} {}", model.name, model.source(), name_of(model.type), fmt::join(model.labels, " ")));
  return std::ranges::all_of(words, [&](const std::string& word) { return all.find(to_lower(word)) != all.npos; });
}

Result<int> search(const SearchRequest& request, CommandContext& context) {
  const auto query = fmt::format("/api/v1/registry/search?query={}&limit={}",
                                 escaped(fmt::format("{}", fmt::join(request.words, " "))), request.limit);
  if (context.json) {
    const auto text = fetch(context.api, ApiRequest::get(query));
    if (!text) return std::unexpected(text.error());
    return print_json(context, *text);
  }
  const auto known = known_models(context);
  Table table({{"NAME"}, {"DOWNLOADS", Align::right, 1}, {"LIKES", Align::right, 2}, {"NOTE"}});
  std::size_t rows = 0;
  for (const auto& model : known.models) {
    if (!matches(model, request.words)) continue;
    table.add({model.name, "", "", "known: " + model.source()});
    ++rows;
  }
  // Without a hub only known models are listed.
  const auto text = fetch(context.api, ApiRequest::get(query));
  if (!text && (rows == 0 || text.error().code != errc::request_failed)) return std::unexpected(text.error());
  if (text) {
    const auto found = parse_found(*text);
    if (!found) return std::unexpected(found.error());
    for (const auto& repo : *found)
      table.add({repo.checkpoint, or_unknown(repo.downloads), or_unknown(repo.likes),
                 repo.gated ? "you must accept its conditions first" : ""});
    rows += found->size();
  }
  if (rows > 0) {
    table.print(context.terminal);
    context.terminal.err << "Download one with: corral pull NAME\n";
  } else {
    context.terminal.err << printable(fmt::format("No model is called '{}'\n", fmt::join(request.words, " ")));
  }
  if (!text) context.terminal.err << "warning: " << printable(text.error().message) << '\n';
  return kExitOk;
}

}  // namespace

Action declare_search(CLI::App& app) {
  const auto request = std::make_shared<SearchRequest>();
  app.add_option("WORDS", request->words, "Text in its name")->required()->type_name("");
  app.add_option("--limit", request->limit, "Maximum number of repositories")
      ->type_name("N")
      ->check(CLI::Range(1, 100))
      ->default_val(20);
  add_table_flags(app);
  return [request](CommandContext& context) { return search(*request, context); };
}

}  // namespace corral::cli
