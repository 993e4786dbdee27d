#include <filesystem>
#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/format.h"
#include "cli/loading.h"

namespace corral::cli {
namespace {

Result<int> load(const LoadOptions& options, Context& context) {
  warn_if_pinned_full(context, options.model);
  if (context.json) {
    const auto text = fetch(context.api, ApiRequest::post("/api/v1/load", load_body(options, false)));
    if (!text) return std::unexpected(text.error());
    return print_json(context, *text);
  }
  const MonoTime start = context.clock.now();
  if (const auto loaded = load_with_progress(context, options); !loaded) return std::unexpected(loaded.error());
  const auto took = std::chrono::duration_cast<Millis>(context.clock.now() - start);
  context.terminal.out << fmt::format("{} is loaded ({})\n", options.model, human_duration(took));
  return kExitOk;
}

}  // namespace

void declare_load_options(CLI::App& app, LoadOptions& options) {
  app.add_option("MODEL", options.model, "Name of the model")->required()->type_name("");
  app.add_option("--ctx-size", options.ctx_size, "Context in tokens; -1 for automatic")->type_name("N");
  app.add_option("--parallel", options.parallel, "Requests it works on at the same time")->type_name("N");
  app.add_option("--threads", options.threads, "Compute threads; 0 for automatic")->type_name("N");
  app.add_option("--gpu-layers", options.gpu_layers, "Layers on the GPU; -1 for all that fit")->type_name("N");
  // The server has another working directory than the shell the path was typed in.
  const auto add_adapter = [&options](const std::string& adapter) {
    options.lora.push_back(std::filesystem::absolute(adapter).native());
  };
  app.add_option_function<std::string>("--lora", add_adapter, "LoRA adapter, with how strongly it applies; repeatable")
      ->type_name("FILE[:SCALE]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
  app.add_option("--speculative", options.speculative, "Most tokens guessed ahead; 0 for none")->type_name("N");
  const auto set_draft = [&options](const std::string& file) {
    options.draft_model = std::filesystem::absolute(file).native();
  };
  app.add_option_function<std::string>("--draft-model", set_draft,
                                       "A smaller model with the same vocabulary that guesses")
      ->type_name("FILE");
}

Action declare_load(CLI::App& app) {
  const auto options = std::make_shared<LoadOptions>();
  declare_load_options(app, *options);
  const auto set_pinned = [options](std::int64_t count) { options->pinned = count > 0; };
  app.add_flag_function("--pinned,!--no-pinned", set_pinned, "Keep it in memory whatever else is loaded");
  return [options](Context& context) { return load(*options, context); };
}

}  // namespace corral::cli
