#include "cli/pulling.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/close_names.h"
#include "base/shell_word.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/terminal/file_bars.h"
#include "cli/terminal/format.h"
#include "config/paths.h"
#include "config/sources.h"
#include "json/value.h"

namespace corral::cli {
namespace {

constexpr std::size_t kMaxHints = 3;

std::string go_on_with(const PullTarget& target) {
  return fmt::format("resume with: corral pull {}{}", shell_word(target.name), target.no_mmproj ? " --no-mmproj" : "");
}

// Whether the server has the same table of known models.
bool is_found_by(const CommandContext& context, const std::string& alias, const std::string& model) {
  const auto reply = context.api.call(ApiRequest::get(model_path(alias)));
  const auto found = reply && reply->status < 400 ? parse_model(reply->body) : ListedModel();
  return found && found->name == model;
}

// Makes the short name of a known model an alias of the downloaded one, unless another model has that name.
void give_alias(const CommandContext& context, const PullTarget& target, const Pulled& pulled) {
  if (target.alias.empty() || target.alias == pulled.model_name) return;
  if (is_found_by(context, target.alias, pulled.model_name)) return;
  const auto body = text_object({{"alias", target.alias}, {"target", pulled.model_name}});
  const auto given = fetch(context.api, ApiRequest::post("/internal/aliases", body));
  if (!given) {
    const auto line =
        fmt::format("the name '{}' is taken ({}): use {}\n", target.alias, given.error().message, pulled.model_name);
    context.terminal.err << printable(line);
  }
}

// The events of a pull.
class PullEvents {
 public:
  PullEvents(const CommandContext& context, bool printed)
      : context_(context), printed_(printed), bars_(context.terminal, context.clock) {}

  void take(std::string_view event, std::string_view data) {
    if (event == "plan") return take_plan(data);
    if (event == "progress") {
      auto progress = parse_download(data);
      if (!progress) return;
      last_ = std::move(*progress);
      bars_.show(last_);
    } else if (event == "complete") {
      complete_ = data;
    } else if (event == "error" || error_in(data)) {
      failure_ = error_in(data).value_or(std::string(data));
      if (const auto value = json::parse(data)) failure_code_ = json::text_or(*value, "code", "");
    }
  }
  void clear_bars() { bars_.clear(); }

  const std::optional<PullPlan>& plan() const { return plan_; }
  const std::optional<std::string>& complete() const { return complete_; }
  const std::optional<std::string>& failure() const { return failure_; }
  // Another pull would resume from the files here.
  bool goes_on() const { return failure_code_ != "wrong_content" && !so_far().empty(); }
  // "1.2 GiB of 4.1 GiB are here", if any.
  std::string so_far() const {
    if (last_.done == 0 || last_.done >= last_.total) return {};
    return fmt::format("{} of {} downloaded; ", human_bytes(last_.done), human_bytes(last_.total));
  }

 private:
  void take_plan(std::string_view data) {
    auto plan = parse_plan(data);
    if (!plan) return;
    plan_ = std::move(*plan);
    if (!printed_) context_.terminal.err << printable(plan_text(*plan_)) << std::flush;
  }

  const CommandContext& context_;
  const bool printed_;
  FileBars bars_;
  DownloadProgress last_;
  std::optional<PullPlan> plan_;
  std::optional<std::string> complete_, failure_;
  std::string failure_code_;
};

}  // namespace

bool names_a_source(std::string_view name) {
  return !name.starts_with('/') && !name.starts_with('.') && !name.starts_with('~') &&
         (name.find('/') != std::string_view::npos);
}

config::KnownModels known_models(const CommandContext& context) {
  const auto paths = config::Paths::from(context.inputs.environment);
  const auto file = config::config_file(context.inputs, paths).path;
  auto known = config::read_known_models(file.empty() ? file : file.parent_path() / "known-models.toml");
  if (!known.problem.empty()) context.terminal.err << "warning: " << printable(known.problem) << '\n';
  return known;
}

PullTarget find_target(const CommandContext& context, const std::string& name) {
  PullTarget target{.name = name, .model_name = name, .checkpoint = {}, .alias = {}};
  if (names_a_source(name)) return target;
  const auto known = known_models(context);
  if (const auto* row = known.find(name)) {
    target.model_name = row->source();
    target.alias = name;
  }
  return target;
}

std::optional<std::string> here_by_full_name(const CommandContext& context, const PullTarget& target) {
  if (target.alias.empty()) return std::nullopt;
  const auto reply = context.api.call(ApiRequest::get(model_path(target.model_name)));
  if (!reply || reply->status >= 400) return std::nullopt;
  return target.model_name;
}

Error no_such_model(const CommandContext& context, const std::string& name, std::string message) {
  std::vector<std::string> names;
  for (const auto& model : known_models(context).models) names.push_back(model.name);
  auto close = close_names(name, names, kMaxHints);
  for (auto& one : close) one = fmt::format("'{}'", one);
  if (!message.ends_with('?') && !message.ends_with('.')) message += '.';
  if (!close.empty()) message += fmt::format(" Known models with similar names: {}.", fmt::join(close, ", "));
  const auto words = name.substr(0, name.find(':'));
  return {errc::request_failed, fmt::format("{} Search for others with: corral search {}", message, shell_word(words))};
}

Result<PullPlan> plan_of(const CommandContext& context, const PullTarget& target) {
  const PullBody body{
      .model_name = target.model_name, .checkpoint = target.checkpoint, .dry_run = true, .no_mmproj = target.no_mmproj};
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/pull", pull_body(body)));
  if (!text) return std::unexpected(text.error());
  return parse_plan(*text);
}

std::string plan_text(const PullPlan& plan) {
  const auto count = plan.files.size();
  const std::string files = count == 1 ? "1 file" : fmt::format("{} files", count);
  std::string text = fmt::format("{}: {}, {} on disk", plan.model_name, files, human_bytes(plan.bytes_total));
  if (plan.bytes_to_fetch == 0) {
    text += ", already downloaded";
  } else if (plan.bytes_to_fetch < plan.bytes_total) {
    text += fmt::format(", {} to download", human_bytes(plan.bytes_to_fetch));
  }
  if (plan.memory) {
    text += fmt::format("; {}{} of memory when it is loaded", plan.memory_by_size ? "about " : "",
                        human_bytes(*plan.memory));
  }
  if (!plan.licence.empty()) text += fmt::format("; licence: {}", plan.licence);
  text += '\n';
  if (!plan.fits_disk && plan.free_disk) {
    text += fmt::format("warning: not enough disk space: {} to download and {} to keep free, but {} has {} free\n",
                        human_bytes(plan.needs_disk), human_bytes(plan.keep_free), plan.disk_path,
                        human_bytes(*plan.free_disk));
  }
  if (!plan.fits_memory && plan.have_memory)
    text += fmt::format("warning: this machine has {} of memory for it\n", human_bytes(*plan.have_memory));
  return text;
}

Result<Pulled> pull_with_progress(const CommandContext& context, const PullTarget& target, bool printed) {
  PullEvents events(context, printed);
  const auto on_event = [&](std::string_view event, std::string_view data) { events.take(event, data); };
  const PullBody body{
      .model_name = target.model_name, .checkpoint = target.checkpoint, .stream = true, .no_mmproj = target.no_mmproj};
  const auto reply = context.api.stream(ApiRequest::post("/api/v1/pull", pull_body(body)), on_event);
  events.clear_bars();
  if (!reply) {
    const auto& error = reply.error();
    if (error.code == errc::interrupted) {
      context.terminal.err << printable(fmt::format("\npaused: {}{}", events.so_far(), go_on_with(target)));
      return std::unexpected(error);
    }
    if (error.code != errc::bad_answer) return std::unexpected(error);
    return fail(errc::bad_answer, fmt::format("{}; {}{}", error.message, events.so_far(), go_on_with(target)));
  }
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  if (events.failure()) {
    const auto rest = events.goes_on() ? fmt::format("; {}{}", events.so_far(), go_on_with(target)) : std::string();
    return fail(errc::request_failed, *events.failure() + rest);
  }
  // A server without streaming has answered with the outcome itself.
  if (!events.complete() && reply->body.empty()) {
    return fail(errc::bad_answer, fmt::format("{} closed the connection before the download was complete; {}{}",
                                              context.api.url(), events.so_far(), go_on_with(target)));
  }
  const auto outcome = parse_download(events.complete() ? *events.complete() : reply->body);
  if (!outcome) return std::unexpected(outcome.error());
  Pulled pulled{.model_name = outcome->model_name.empty() ? target.model_name : outcome->model_name,
                .bytes = outcome->total};
  if (const auto& plan = events.plan()) {
    pulled.was_here = plan->bytes_to_fetch == 0;
    if (pulled.bytes == 0) pulled.bytes = plan->bytes_total;
  }
  give_alias(context, target, pulled);
  return pulled;
}

}  // namespace corral::cli
