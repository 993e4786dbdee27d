#include "cli/loading.h"

#include <fmt/format.h>

#include "cli/errors.h"
#include "cli/server/url_text.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"

namespace corral::cli {

std::string model_path(const std::string& model) { return "/api/v1/models/" + escaped(model, "/"); }

namespace {

// The phase and the time since the start. A share that doesn't move, as that of a mapped file, is not shown.
void show_step(ProgressBar& bar, const LoadProgress& step, Millis elapsed) {
  const bool whole = step.progress >= 1 && step.stage == "loading";
  std::string phase = whole ? "preparing" : step.stage == "queued" ? "waiting in the load queue" : step.stage;
  if (elapsed >= Millis(1'000)) phase += fmt::format("{}{} s", phase.empty() ? "" : ", ", elapsed.count() / 1'000);
  if (step.progress <= 0 || whole) return bar.show(phase);
  bar.show(step.progress, phase);
}

}  // namespace

Result<LoadOutcome> load_with_progress(const CommandContext& context, const LoadRequest& options) {
  ProgressBar bar(context.terminal, "Loading " + options.model);
  const MonoTime start = context.clock.now();
  std::optional<std::string> failure;
  std::optional<std::string> complete;
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (event == "complete") {
      complete = data;
    } else if (event == "error" || (event.empty() && error_in(data))) {
      failure = error_in(data).value_or(std::string(data));
    } else if (event == "progress") {
      const auto elapsed = std::chrono::duration_cast<Millis>(context.clock.now() - start);
      if (const auto step = parse_load_progress(data)) show_step(bar, *step, elapsed);
    }
  };
  const auto reply = context.api.stream(ApiRequest::post("/api/v1/load", load_body(options, true)), on_event);
  bar.clear();
  if (!reply && reply.error().code == errc::interrupted)
    return fail(errc::interrupted, fmt::format("the load of '{}' is cancelled", options.model));
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  if (failure) return fail(errc::request_failed, *failure);
  // A server without streaming has answered with the outcome itself.
  if (!complete && reply->body.empty()) {
    return fail(errc::bad_answer,
                fmt::format("{} closed the connection before '{}' was loaded", context.api.url(), options.model));
  }
  auto outcome = parse_load_outcome(complete ? *complete : reply->body);
  if (!outcome) return LoadOutcome();  // another kind of server, which has loaded the model nevertheless
  for (const auto& warning : outcome->warnings) context.terminal.err << "warning: " << printable(warning) << '\n';
  return outcome;
}

void warn_if_pinned_full(const CommandContext& context, const std::string& model) {
  const auto health_text = fetch(context.api, ApiRequest::get("/api/v1/health"));
  const auto model_text = fetch(context.api, ApiRequest::get(model_path(model)));
  if (!health_text || !model_text) return;
  const auto health = parse_health(*health_text);
  const auto info = parse_model(*model_text);
  if (!health || !info || health->find(model) || health->find(info->name)) return;
  const auto max = health->max_models.find(info->type);
  const auto pinned = health->pinned_models.find(info->type);
  if (max == health->max_models.end() || pinned == health->pinned_models.end()) return;
  if (max->second < 0 || pinned->second < max->second) return;
  const std::string text = fmt::format(
      "warning: pinned models hold all {} slots of type {}; the load fails unless one is unpinned or unloaded",
      max->second, info->type);
  context.terminal.err << printable(text) << '\n';
}

}  // namespace corral::cli
