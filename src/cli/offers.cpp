#include "cli/offers.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/host_memory.h"
#include "base/shell_word.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/server/url_text.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

struct Offer {
  const config::KnownModel* model = nullptr;
  std::uint64_t size = 0, memory = 0;
  bool estimated = true;
  bool here = false;
};

Offer offer_of(const CommandContext& context, const config::KnownModel& model) {
  Offer offer{.model = &model, .size = config::estimated_size(model)};
  offer.memory = config::estimated_memory(offer.size);
  const auto reply = context.api.call(ApiRequest::get(model_path(model.source())));
  offer.here = reply && reply->status < 400;
  return offer;
}

// Replaces the estimate by the hub's exact size.
void ask_the_hub(const CommandContext& context, Offer& offer) {
  const auto& repo = offer.model->repository;
  const auto reply = context.api.call(ApiRequest::get("/api/v1/pull/variants?checkpoint=" + escaped(repo, "/")));
  if (!reply || reply->status >= 400) return;
  const auto variants = parse_variants(reply->body);
  if (!variants) return;
  const auto* row = variants->find(offer.model->quantisation);
  if (row == nullptr || row->size == 0) return;
  offer.size = row->size;
  offer.memory = row->memory.value_or(config::estimated_memory(row->size));
  offer.estimated = false;
}

std::string offer_line(const Offer& offer) {
  const auto& model = *offer.model;
  const auto about = offer.estimated ? "about " : "";
  return fmt::format("{}: {}{} on disk, {}{} of memory; {}; licence: {}{}", model.name, about, human_bytes(offer.size),
                     about, human_bytes(offer.memory), fmt::join(model.labels, ", "), or_unknown(model.licence),
                     offer.here ? " (here)" : "");
}

// Finds an offer by its name or its number in the list.
const Offer* chosen(const std::vector<Offer>& offers, const std::string& text) {
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (text == std::to_string(i + 1) || text == offers[i].model->name) return &offers[i];
  return nullptr;
}

bool is_yes(std::string_view text) { return text.empty() || text == "y" || text == "Y" || text == "yes"; }

}  // namespace

Result<std::string> choose_model(const CommandContext& context) {
  const auto known = known_models(context);
  std::vector<Offer> offers;
  for (const auto* model : config::suggested_models(known, read_host_memory().total))
    offers.push_back(offer_of(context, *model));
  if (offers.empty()) return fail(errc::usage, "a model name is required: corral list shows the local models");
  if (!context.terminal.in_tty) {
    std::string commands;
    for (const auto& offer : offers) commands += fmt::format("\n  corral run --yes {}", shell_word(offer.model->name));
    return fail(errc::usage,
                fmt::format("a model name is required: corral list shows the local models; these fit the machine:{}",
                            commands));
  }
  auto& err = context.terminal.err;
  err << "These models fit the machine:\n";
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (!offers[i].here) ask_the_hub(context, offers[i]);
    err << printable(fmt::format("  {}  {}\n", i + 1, offer_line(offers[i])));
  }
  while (true) {
    err << fmt::format("Number of the model [1-{}, Enter to leave] ", offers.size()) << std::flush;
    const auto line = context.input.read_line();
    if (line.kind == InputLine::Kind::interrupted) return fail(errc::interrupted, "interrupted");
    if (line.kind == InputLine::Kind::end || line.text.empty()) return fail(errc::usage, "no model was selected");
    if (const auto* offer = chosen(offers, line.text)) return offer->here ? offer->model->source() : offer->model->name;
  }
}

Result<std::string> see_that_it_is_here(const CommandContext& context, const std::string& model, bool yes) {
  const auto target = find_target(context, model);
  if (target.alias.empty() && !names_a_source(model)) return model;  // the load reports the unknown name
  if (auto here = here_by_full_name(context, target)) return *here;
  const auto plan = plan_of(context, target);
  if (!plan) return std::unexpected(plan.error());
  auto& err = context.terminal.err;
  err << printable(plan_text(*plan)) << std::flush;
  if (!yes && plan->bytes_to_fetch > 0) {
    if (!context.terminal.in_tty) {
      return fail(
          errc::usage,
          fmt::format("'{}' is not downloaded, and there is no terminal for a question: use corral pull {}, or --yes",
                      model, shell_word(model)));
    }
    err << fmt::format("It is not downloaded. Download {}? [Y/n] ", human_bytes(plan->bytes_to_fetch)) << std::flush;
    const auto line = context.input.read_line();
    if (line.kind == InputLine::Kind::interrupted) return fail(errc::interrupted, "interrupted");
    if (line.kind == InputLine::Kind::end || !is_yes(line.text))
      return fail(errc::request_failed, fmt::format("'{}' is not downloaded", model));
  }
  const auto pulled = pull_with_progress(context, target, true);
  if (!pulled) return std::unexpected(pulled.error());
  return pulled->model_name;
}

}  // namespace corral::cli
