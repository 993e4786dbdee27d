// The latest lines of the server's log, or of the output of a model's process.
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/log_wire.h"
#include "cli/server/url_text.h"

namespace corral::cli {
namespace {

constexpr int kMaxLines = 1'000;  // the server's limit

struct LogOptions {
  std::string model;
  std::optional<int> lines;
  bool follow = false;
};

std::string logs_path(const LogOptions& options) {
  std::string path = "/api/v1/logs";
  char sign = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    path += fmt::format("{}{}={}", sign, name, value);
    sign = '&';
  };
  if (!options.model.empty()) add("model", escaped(options.model));
  if (options.lines) add("lines", std::to_string(*options.lines));
  if (options.follow) add("follow", "true");
  return path;
}

Result<int> print_log(const LogOptions& options, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get(logs_path(options)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, log_object(*text));
  if (text->empty() && !options.model.empty() && options.lines != 0)
    context.terminal.err << printable(fmt::format("No process of {} has written a line\n", options.model));
  context.terminal.out << (context.terminal.out_tty ? printable(*text) : *text);
  return kExitOk;
}

// Until Ctrl-C or the end of the server.
Result<int> follow_log(const LogOptions& options, CommandContext& context) {
  const Terminal& terminal = context.terminal;
  std::string process;
  const auto print = [&](std::string_view name, std::string_view data) {
    if (name != "lines") return;
    if (context.json) {
      terminal.out << data << std::endl;
      return;
    }
    const auto piece = parse_log_lines(data);
    if (!piece) return;
    // A load after an unload, or after a crash, has another process.
    if (!process.empty() && !piece->process.empty() && piece->process != process)
      terminal.err << printable(fmt::format("(now the output of {})\n", piece->process)) << std::flush;
    if (!piece->process.empty()) process = piece->process;
    if (piece->missed > 0) terminal.err << fmt::format("({} lines are missing here)\n", piece->missed) << std::flush;
    for (const std::string& line : piece->lines) terminal.out << (terminal.out_tty ? printable(line) : line) << '\n';
    terminal.out << std::flush;
  };
  const auto reply = context.api.stream(ApiRequest::get(logs_path(options)), print);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  return kExitOk;
}

}  // namespace

Action declare_logs(CLI::App& app) {
  const auto options = std::make_shared<LogOptions>();
  app.add_option("MODEL", options->model, "Output of this model's latest process; default: the server's log")
      ->type_name("");
  app.add_flag("-f,--follow", options->follow, "Continue with each further line, until Ctrl-C");
  app.add_option("-n,--lines", options->lines, "Maximum number of lines at the start [200]")
      ->type_name("N")
      ->check(CLI::Range(0, kMaxLines));
  return [options](CommandContext& context) {
    return options->follow ? follow_log(*options, context) : print_log(*options, context);
  };
}

}  // namespace corral::cli
