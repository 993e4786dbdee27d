#include "cli/starting.h"

#include <fmt/format.h>

#include "cli/errors.h"
#include "cli/own_file.h"

namespace corral::cli {
namespace {

std::unexpected<Error> nothing_runs(const CommandContext& context) {
  std::error_code ignored;
  const bool has_service = std::filesystem::exists(context.inputs.service_file, ignored);
  return fail(errc::no_server,
              fmt::format("no corral server responds at {}: start one with {}, or only for this command with --start\n"
                          "then corral run lists models that fit this machine, and downloads the one you choose",
                          context.api.url(), has_service ? "sudo systemctl start corral" : "corral serve"));
}

}  // namespace

Result<std::shared_ptr<void>> see_that_a_server_runs(const CommandContext& context, bool start) {
  const auto reply = context.api.call(ApiRequest::get("/live"));
  if (reply || reply.error().code != errc::no_server) return nullptr;  // the command's own requests report other errors
  if (!context.start_server || !is_on_this_machine(context.api)) return std::unexpected(reply.error());
  auto& err = context.terminal.err;
  if (!start) {
    if (!context.terminal.in_tty || context.json) return nothing_runs(context);
    err << fmt::format("No corral server responds at {}. Start one until this command ends? [Y/n] ", context.api.url())
        << std::flush;
    const auto line = context.input.read_line();
    if (line.kind == InputLine::Kind::interrupted) return fail(errc::interrupted, "interrupted");
    const bool yes = line.kind == InputLine::Kind::line &&
                     (line.text.empty() || line.text == "y" || line.text == "Y" || line.text == "yes");
    if (!yes) return nothing_runs(context);
  }
  auto started = context.start_server();
  if (started && !context.json)
    err << fmt::format("A server runs at {} until this command ends.\n", context.api.url()) << std::flush;
  return started;
}

}  // namespace corral::cli
