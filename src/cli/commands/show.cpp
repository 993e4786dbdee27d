#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/pulling.h"
#include "cli/server/answer_fields.h"
#include "cli/server/url_text.h"
#include "cli/showing.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"

namespace corral::cli {
namespace {

constexpr std::size_t kTemplateWidth = 40;
constexpr std::array<std::int64_t, 3> kContexts = {4'096, 16'384, 65'536};

// "name   value" lines; lines without a value are omitted.
class Sheet {
 public:
  void add(std::string name, std::string value) {
    if (!value.empty()) rows_.emplace_back(std::move(name), std::move(value));
  }
  void print(const Terminal& terminal) const {
    std::size_t width = 0;
    for (const auto& [name, value] : rows_) width = std::max(width, name.size());
    for (const auto& [name, value] : rows_) terminal.out << printable(fmt::format("{:<{}}  {}\n", name, width, value));
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string parameters_text(std::optional<std::int64_t> parameters) {
  if (!parameters) return {};
  const auto count = static_cast<double>(*parameters);
  if (count >= 1e9) return fmt::format("{:.1f} billion", count / 1e9);
  return fmt::format("{:.0f} million", count / 1e6);
}

// The usual sizes, the automatic one, and the trained one.
std::vector<std::int64_t> contexts_for(const ListedModel& model) {
  std::vector<std::int64_t> contexts(kContexts.begin(), kContexts.end());
  for (const auto& more : {model.context, model.max_context})
    if (more && *more > 0) contexts.push_back(*more);
  if (model.max_context && *model.max_context > 0)
    std::erase_if(contexts, [&](std::int64_t tokens) { return tokens > *model.max_context; });
  std::ranges::sort(contexts);
  const auto twice = std::ranges::unique(contexts);
  contexts.erase(twice.begin(), twice.end());
  return contexts;
}

// Memory for each of these contexts; nothing if unknown.
Result<> print_memory(const CommandContext& context, const std::string& name, const ListedModel& model) {
  Table table({{"CONTEXT", Align::right}, {"MEMORY", Align::right}});
  bool any = false;
  const auto contexts = model.type == "llm" ? contexts_for(model) : std::vector<std::int64_t>{0};
  for (const auto tokens : contexts) {
    LoadRequest options{name};
    if (tokens > 0) options.values.ctx_size = tokens;
    const auto reply = context.api.call(ApiRequest::post("/api/v1/estimate", load_body(options, false)));
    if (!reply) return std::unexpected(reply.error());
    const auto memory = reply->status < 400 ? parse_estimate(reply->body) : EstimatedMemory();
    if (!memory) return std::unexpected(memory.error());
    any = any || memory->total > 0;
    const auto total = memory->total > 0 ? human_bytes(memory->total) : std::string(kUnknown);
    table.add({tokens > 0 ? std::to_string(tokens) : context_or_unknown(model.context, {}), total});
  }
  if (!any) return {};
  context.terminal.out << '\n';
  table.print(context.terminal);
  return {};
}

// The first line, and the size.
std::string template_text(const std::string& text) {
  if (text.empty()) return {};
  const auto line = text.substr(0, text.find('\n'));
  return fmt::format("{}, starts with {} (all of it: --template)", human_bytes(text.size()),
                     shorten(line, kTemplateWidth));
}

void print_files(const CommandContext& context, const json::Value& answer) {
  Table table({{"FILE"}, {"SIZE", Align::right}, {"SHA-256", Align::left, 1}});
  bool any = false;
  each(answer, "files", [&](const json::Value& file) {
    any = true;
    table.add(
        {text_of(file, "name"), size_or_unknown(bytes_of(file, "size_bytes")), or_unknown(text_of(file, "sha256"))});
  });
  if (!any) return;
  context.terminal.out << '\n';
  table.print(context.terminal);
}

Result<int> show_here(const std::string& name, const std::string& text, CommandContext& context) {
  const auto answer = parse_answer(text);
  const auto model = parse_model(text);
  if (!answer || !model) return std::unexpected(!answer ? answer.error() : model.error());
  Sheet sheet;
  sheet.add("name", model->name);
  sheet.add("other names", fmt::format("{}", fmt::join(names_of(*answer, "aliases"), ", ")));
  sheet.add("from", text_of(*answer, "checkpoint"));
  sheet.add("type", fmt::format("{}{}", model->type, model->recipe.empty() ? "" : " (" + model->recipe + ")"));
  sheet.add("architecture", text_of(*answer, "architecture"));
  sheet.add("parameters", parameters_text(integer_of(*answer, "parameters")));
  sheet.add("quantisation", model->quantization);
  sheet.add("labels", fmt::format("{}", fmt::join(names_of(*answer, "labels"), ", ")));
  sheet.add("context", model->max_context
                           ? fmt::format("{} tokens, trained with {}", or_unknown(model->context), *model->max_context)
                           : std::string());
  sheet.add("size", model->size ? human_bytes(*model->size) : std::string());
  sheet.add("licence", text_of(*answer, "licence"));
  sheet.add("template", template_text(text_of(*answer, "chat_template")));
  sheet.add("state", model->state);
  if (model->is_far) sheet.add("nodes", fmt::format("{}", fmt::join(model->nodes, ", ")));
  sheet.print(context.terminal);
  print_files(context, *answer);
  if (!model->is_far) {
    const auto printed = print_memory(context, model->name.empty() ? name : model->name, *model);
    if (!printed) return std::unexpected(printed.error());
  }
  return kExitOk;
}

// For a model that can be downloaded: its variants.
Result<int> show_there(const PullTarget& target, const std::string& text, CommandContext& context) {
  const auto variants = parse_variants(text);
  if (!variants) return std::unexpected(variants.error());
  Sheet sheet;
  sheet.add("name", target.name);
  sheet.add("from", variants->checkpoint);
  sheet.add("licence", variants->licence);
  sheet.add("conditions", variants->gated ? "must be accepted on its page first" : "");
  sheet.add("state", "not downloaded");
  sheet.print(context.terminal);
  Table table({{"QUANT"}, {"SIZE", Align::right}, {"MEMORY", Align::right}, {"NOTE"}});
  for (const auto& row : variants->rows) {
    std::vector<std::string> notes;
    if (row.here) notes.emplace_back("downloaded");
    if (!row.fits) notes.emplace_back("too large for this machine");
    if (row.name == variants->usual) notes.emplace_back("the default of the name");
    if (row.name == variants->suggested) notes.emplace_back("the largest that fits");
    table.add(
        {row.name, human_bytes(row.size), size_or_unknown(row.memory), fmt::format("{}", fmt::join(notes, ", "))});
  }
  context.terminal.out << '\n';
  table.print(context.terminal);
  context.terminal.err << printable(fmt::format("Download it with: corral pull {}\n", shell_word(target.name)));
  return kExitOk;
}

// For a file at an address: it has no variants.
Result<int> show_address(const PullTarget& target, CommandContext& context) {
  const PullBody body{.model_name = target.model_name, .dry_run = true};
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/pull", pull_body(body)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto plan = parse_plan(*text);
  if (!plan) return std::unexpected(plan.error());
  Sheet sheet;
  sheet.add("name", plan->model_name);
  sheet.add("size", human_bytes(plan->bytes_total));
  sheet.add("memory", plan->memory ? "about " + human_bytes(*plan->memory) : "");
  sheet.add("licence", plan->licence);
  sheet.add("state", "not downloaded");
  sheet.print(context.terminal);
  context.terminal.err << printable(fmt::format("Download it with: corral pull {}\n", shell_word(target.name)));
  return kExitOk;
}

std::string details_path(const std::string& name) { return model_path(name) + "?details=true"; }

Result<int> show_template(const std::string& name, const std::string& text, CommandContext& context) {
  const auto answer = parse_answer(text);
  if (!answer) return std::unexpected(answer.error());
  const auto chat_template = text_of(*answer, "chat_template");
  if (chat_template.empty()) return fail(errc::request_failed, fmt::format("'{}' has no chat template", name));
  context.terminal.out << printable(chat_template) << '\n';
  return kExitOk;
}

}  // namespace

Result<int> show_model(const std::string& name, bool with_template, CommandContext& context) {
  auto reply = context.api.call(ApiRequest::get(details_path(name)));
  if (!reply) return std::unexpected(reply.error());
  const auto target = find_target(context, name);
  if (reply->status == 404 && here_by_full_name(context, target))
    reply = context.api.call(ApiRequest::get(details_path(target.model_name)));
  if (!reply) return std::unexpected(reply.error());
  if (reply->status < 400) {
    if (with_template) return show_template(name, reply->body, context);
    if (context.json) return print_json(context, reply->body);
    return show_here(name, reply->body, context);
  }
  if (reply->status != 404) return std::unexpected(refusal(context.api, *reply));
  if (target.alias.empty() && !names_a_source(name)) {
    auto refused = refusal(context.api, *reply);
    auto error = no_such_model(context, name, std::move(refused.message));
    error.facts = std::move(refused.facts);
    return std::unexpected(std::move(error));
  }
  if (with_template)
    return fail(errc::request_failed, fmt::format("'{}' is not downloaded: its template is unknown", name));
  if (target.model_name.find("://") != std::string::npos) return show_address(target, context);
  const auto repo = target.model_name.substr(0, target.model_name.find(':', target.model_name.find('/')));
  const auto text = fetch(context.api, ApiRequest::get("/api/v1/pull/variants?checkpoint=" + escaped(repo, "/")));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  return show_there(target, *text, context);
}

Action declare_show(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("MODEL", *name, "Name of a local model, or of one on the hub")->required()->type_name("");
  const auto with_template = std::make_shared<bool>(false);
  app.add_flag("--template", *with_template, "Print only its chat template");
  add_table_flags(app);
  return [name, with_template](CommandContext& context) { return show_model(*name, *with_template, context); };
}

}  // namespace corral::cli
