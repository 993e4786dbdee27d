#include <memory>

#include <CLI/App.hpp>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

Result<int> estimate(const LoadRequest& options, CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/estimate", load_body(options, false)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto memory = parse_estimate(*text);
  if (!memory) return std::unexpected(memory.error());
  Table table({{"DEVICE"},
               {"WEIGHTS", Align::right, 1},
               {"KV", Align::right, 2},
               {"COMPUTE", Align::right, 3},
               {"TOTAL", Align::right}});
  for (const auto& device : memory->devices) {
    table.add({device.name, human_bytes(device.weights), human_bytes(device.kv), human_bytes(device.compute),
               human_bytes(device.total)});
  }
  table.print(context.terminal);
  auto& out = context.terminal.out;
  out << "With the process itself (" << human_bytes(memory->process) << "): " << human_bytes(memory->total) << ".\n";
  if (memory->mapped > 0) {
    out << "The process will show " << human_bytes(memory->resident) << " of host memory; "
        << human_bytes(memory->mapped)
        << " of it are pages of the model's file, which the system can drop and read again.\n";
  }
  return kExitOk;
}

}  // namespace

Action declare_estimate(CLI::App& app) {
  const auto options = std::make_shared<LoadRequest>();
  declare_load_options(app, *options);
  add_table_flags(app);
  return [options](CommandContext& context) { return estimate(*options, context); };
}

}  // namespace corral::cli
