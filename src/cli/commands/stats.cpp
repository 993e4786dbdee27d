#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

Result<int> stats(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get("/api/v1/stats"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto stats = parse_stats(*text);
  if (!stats) return std::unexpected(stats.error());
  std::ostream& out = context.terminal.out;
  if (stats->requests == 0) {
    context.terminal.err << "No request has finished yet\n";
    return kExitOk;
  }
  const RequestNumbers& last = stats->last;
  out << fmt::format("last request  {}: {} tokens in ({} cached), {} out, first after {}", printable(last.model),
                     last.prompt_tokens, last.cached_tokens, last.output_tokens,
                     human_duration(Millis(static_cast<std::int64_t>(last.first_token_seconds * 1000))));
  out << (last.tokens_per_second > 0 ? fmt::format(", {:.1f} tokens/s\n", last.tokens_per_second) : "\n");
  out << fmt::format("all {} requests  {} tokens in ({} cached), {} out\n", stats->requests, stats->prompt_tokens,
                     stats->cached_tokens, stats->output_tokens);
  return kExitOk;
}

}  // namespace

Action declare_stats(CLI::App&) {
  return [](CommandContext& context) { return stats(context); };
}

}  // namespace corral::cli
