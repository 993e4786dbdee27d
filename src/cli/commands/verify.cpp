#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/answer_fields.h"
#include "cli/terminal/format.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

struct VerifyRequest {
  std::string model;  // empty: all
  bool quarantine = false;
};

std::string verify_body(const VerifyRequest& request, bool stream) {
  std::string body;
  json::Writer out(body);
  out.begin_object();
  if (!request.model.empty()) out.field("model_name", request.model);
  if (request.quarantine) out.field("quarantine", true);
  if (stream) out.field("stream", true);
  out.end_object();
  return body;
}

// The program's word for a state of the server.
std::string state_text(const std::string& state) {
  if (state == "right") return "ok";
  if (state == "first_look") return "first check";
  return state;
}

int print_verified(const CommandContext& context, const json::Value& answer) {
  Table table({{"MODEL"}, {"FILE", Align::left, 1}, {"SIZE", Align::right, 2}, {"STATE"}});
  std::vector<std::string> notes;
  bool first_look = false;
  each(answer, "models", [&](const json::Value& model) {
    each(model, "files", [&](const json::Value& file) {
      const auto path = text_of(file, "path");
      const auto state = text_of(file, "state");
      const auto name = path.substr(path.rfind('/') + 1);
      table.add({text_of(model, "model_name"), name, size_or_unknown(bytes_of(file, "size")), state_text(state)});
      first_look = first_look || state == "first_look";
      if (state == "right" || state == "first_look") return;
      auto note = fmt::format("{} is {}", path, state);
      if (const auto cause = text_of(file, "cause"); !cause.empty()) note += fmt::format(" ({})", cause);
      if (const auto moved = text_of(file, "moved_to"); !moved.empty()) note += fmt::format(", and is now {}", moved);
      notes.push_back(fmt::format("{}: {}", note, text_of(file, "advice")));
    });
  });
  table.print(context.terminal);
  for (const auto& note : notes) context.terminal.err << printable(note) << '\n';
  if (first_look)
    context.terminal.err << "first check: no earlier hash to compare with; later checks compare with this one\n";
  return text_of(answer, "status") == "success" ? kExitOk : kExitFailed;
}

Result<int> verify(const VerifyRequest& request, CommandContext& context) {
  if (context.json) {
    const auto text = fetch(context.api, ApiRequest::post("/api/v1/verify", verify_body(request, false)));
    if (!text) return std::unexpected(text.error());
    const auto answer = parse_answer(*text);
    if (!answer) return std::unexpected(answer.error());
    const auto printed = print_json(context, *text);
    if (!printed) return printed;
    return text_of(*answer, "status") == "success" ? kExitOk : kExitFailed;
  }
  ProgressBar bar(context.terminal, "Verifying");
  std::optional<std::string> failure, complete;
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (event == "complete") complete = data;
    if (event == "error") failure = error_in(data).value_or(std::string(data));
    if (event != "progress") return;
    const auto step = parse_answer(data);
    if (!step) return;
    const auto total = number_of(*step, "bytes_total").value_or(0);
    bar.show(total > 0 ? number_of(*step, "bytes_done").value_or(0) / total : 0, text_of(*step, "model"));
  };
  const auto reply = context.api.stream(ApiRequest::post("/api/v1/verify", verify_body(request, true)), on_event);
  bar.clear();
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  if (failure) return fail(errc::request_failed, *failure);
  if (!complete) return fail(errc::bad_answer, fmt::format("{} closed the connection too early", context.api.url()));
  const auto answer = parse_answer(*complete);
  if (!answer) return std::unexpected(answer.error());
  return print_verified(context, *answer);
}

}  // namespace

Action declare_verify(CLI::App& app) {
  const auto request = std::make_shared<VerifyRequest>();
  app.add_option("MODEL", request->model, "Only this model; default: all local models")->type_name("");
  app.add_flag("--quarantine", request->quarantine, "Rename damaged files, so that they are not loaded");
  add_table_flags(app);
  return [request](CommandContext& context) { return verify(*request, context); };
}

}  // namespace corral::cli
