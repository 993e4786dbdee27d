#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/pulling.h"
#include "cli/server/url_text.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

struct PullRequest {
  std::string name;
  std::string as;
  bool detach = false;
  bool dry_run = false;
  bool no_mmproj = false;
};

PullBody body_of(const PullTarget& target) {
  return {.model_name = target.model_name, .checkpoint = target.checkpoint, .no_mmproj = target.no_mmproj};
}

// "org/repo" alone lets the server choose. Shows other variants that fit this machine before the download.
void print_other_variants(const CommandContext& context, const PullTarget& target) {
  const auto& source = target.checkpoint.empty() ? target.model_name : target.checkpoint;
  if (source.find(':') != std::string::npos) return;  // the user has chosen
  const auto text = context.api.call(ApiRequest::get("/api/v1/pull/variants?checkpoint=" + escaped(source, "/")));
  if (!text || text->status >= 400) return;  // the pull itself reports the error
  const auto variants = parse_variants(text->body);
  if (!variants) return;
  const auto* usual = variants->find(variants->usual);
  const auto* other = variants->find(variants->suggested);
  if (usual == nullptr || other == nullptr || usual == other) return;
  const auto why = usual->fits ? "a larger variant fits this machine"
                               : "this machine has too little memory for it; another variant fits";
  const auto line = fmt::format("{} is selected; {}: {} ({}), with: corral pull {}\n", usual->name, why, other->name,
                                human_bytes(other->size), shell_word(fmt::format("{}:{}", source, other->name)));
  context.terminal.err << printable(line);
}

Result<int> pull_as_json(const PullRequest& request, const PullTarget& target, CommandContext& context) {
  auto body = body_of(target);
  body.dry_run = request.dry_run;
  body.subscribe = !request.detach;
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/pull", pull_body(body)));
  if (!text) return std::unexpected(text.error());
  return print_json(context, *text);
}

Result<int> detach(const PullTarget& target, CommandContext& context) {
  const auto plan = plan_of(context, target);
  if (!plan) return std::unexpected(plan.error());
  context.terminal.err << printable(plan_text(*plan));
  auto body = body_of(target);
  body.subscribe = false;
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/pull", pull_body(body)));
  if (!text) return std::unexpected(text.error());
  const auto line =
      plan->bytes_to_fetch == 0
          ? fmt::format("{} is already downloaded\n", plan->model_name)
          : fmt::format("the download of {} runs in the background; see: corral downloads\n", plan->model_name);
  context.terminal.out << printable(line);
  return kExitOk;
}

Result<int> pull(const PullRequest& request, CommandContext& context) {
  auto target = find_target(context, request.name);
  target.no_mmproj = request.no_mmproj;
  if (!request.as.empty()) {
    target.checkpoint = target.model_name;
    target.model_name = request.as;
    target.alias.clear();
  }
  if (context.json) return pull_as_json(request, target, context);
  print_other_variants(context, target);
  if (request.dry_run) {
    const auto plan = plan_of(context, target);
    if (!plan) return std::unexpected(plan.error());
    context.terminal.out << printable(plan_text(*plan));
    for (const auto& file : plan->files) {
      const auto line = fmt::format("  {:>8}  {}{}\n", human_bytes(file.size), file.path, file.here ? "  (here)" : "");
      context.terminal.out << printable(line);
    }
    return kExitOk;
  }
  if (request.detach) return detach(target, context);
  const auto start = context.clock.now();
  const auto pulled = pull_with_progress(context, target, false);
  if (!pulled) return std::unexpected(pulled.error());
  const auto took = std::chrono::duration_cast<Millis>(context.clock.now() - start);
  // An offline server has no plan and no size for a model that is here.
  const bool was_here = pulled->was_here || pulled->bytes == 0;
  const auto line = was_here ? fmt::format("{} is already downloaded\n", pulled->model_name)
                             : fmt::format("{} is downloaded ({} in {})\n", pulled->model_name,
                                           human_bytes(pulled->bytes), human_duration(took));
  context.terminal.out << printable(line);
  return kExitOk;
}

}  // namespace

Action declare_pull(CLI::App& app) {
  const auto request = std::make_shared<PullRequest>();
  app.add_option(
         "NAME", request->name,
         "org/repo, org/repo:QUANT, org/repo:FILE.gguf, https://.../x.gguf, ollama.com/library/x:tag, or a name "
         "of corral list --all")
      ->required()
      ->type_name("");
  app.add_option("--as,--name", request->as, "Name of the model here")->type_name("NAME");
  app.add_flag("--detach", request->detach, "Do not wait: download it in the background");
  app.add_flag("--no-mmproj", request->no_mmproj, "Leave out the projector for pictures and sound");
  app.add_flag("--dry-run", request->dry_run, "Show size and memory, and download nothing");
  return [request](CommandContext& context) { return pull(*request, context); };
}

}  // namespace corral::cli
