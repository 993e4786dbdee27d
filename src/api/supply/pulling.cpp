#include "api/supply/pulling.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/base/errors.h"
#include "api/supply/known_names.h"
#include "models/errors.h"
#include "models/names/model_names.h"

namespace corral::api {
namespace {

using downloads::DownloadState;

constexpr Millis kRefusal{100};
constexpr int kRefusals = 4;

bool is_moving(DownloadState state) { return state == DownloadState::queued || state == DownloadState::running; }

// The name is saved before the download, so that it finds the model as soon as it is here.
Result<> keep_name(SupplyContext& context, const PullRequest& wanted, const downloads::Plan& plan) {
  const auto known = context.files.models.find_known(wanted.called);
  const auto user = context.supply->names.user_models(context.files.models.recipes());
  const bool replaces = std::ranges::find(user.models, wanted.called, &models::UserModel::name) != user.models.end();
  const bool same = known && std::ranges::find((*known)->paths, plan.main_file) != (*known)->paths.end();
  if (known && (*known)->name.value() == wanted.called && !replaces && !same)
    return fail(errc::name_taken,
                fmt::format("a model named '{}' already exists: choose another 'model_name'", wanted.called),
                "model_name");
  const bool has_repo_name = plan.checkpoint.find("://") == std::string::npos;
  const auto checkpoint = has_repo_name ? plan.checkpoint : plan.main_file.native();
  return context.supply->names.put({.name = wanted.called,
                                    .checkpoint = checkpoint,
                                    .recipe = "llamacpp",
                                    .labels = wanted.labels,
                                    .fetched = true});
}

}  // namespace

std::string called(const PullRequest& wanted, const downloads::Plan& plan) {
  return wanted.called.empty() ? plan.checkpoint : wanted.called;
}

async::Task<Result<downloads::Plan>> Pull::plan(SupplyContext& context, std::string source) {
  const auto name = source;
  auto plan = co_await context.supply->download_manager.plan(std::move(source));
  if (!plan) co_return std::unexpected(with_way_on(context, std::move(plan.error()), name));
  co_return plan;
}

async::Task<Result<std::unique_ptr<Pull>>> Pull::begin(SupplyContext& context, PullRequest wanted,
                                                       downloads::Plan plan) {
  if (!wanted.called.empty()) {
    if (auto kept = keep_name(context, wanted, plan); !kept) co_return std::unexpected(std::move(kept.error()));
  }
  auto begun = co_await context.supply->download_manager.begin(wanted.download(), wanted.detached);
  if (!begun) co_return std::unexpected(std::move(begun.error()));
  std::unique_ptr<Pull> pull(new Pull(context, std::move(wanted), std::move(plan), std::move(*begun)));
  co_await pull->next(Millis(0));
  co_return std::move(pull);
}

bool Pull::ended() const { return gone_ || !is_moving(row_.view.state); }

async::Task<void> Pull::next(Millis patience) {
  auto row = co_await context_.supply->download_manager.next(begun_.id, row_.version, patience);
  gone_ = !row;
  if (row) row_ = std::move(*row);
}

async::Task<void> Pull::first() {
  for (int i = 0; i < kRefusals && !ended() && row_.view.bytes_done() == 0; ++i) co_await next(kRefusal);
}

async::Task<Result<std::string>> Pull::result() {
  if (row_.view.state == DownloadState::failed && row_.view.error) co_return std::unexpected(*row_.view.error);
  if (gone_ || row_.view.state == DownloadState::cancelled)
    co_return fail(errc::download_cancelled, fmt::format("the download of '{}' was cancelled", wanted_.source));
  if (row_.view.state != DownloadState::done) {
    const auto text = fmt::format("the download of '{}' was paused: pull it again to resume", wanted_.source);
    co_return fail(errc::download_paused, text);
  }
  co_await context_.files.models.rescan();
  const auto catalog = co_await context_.files.models.catalog();
  const auto& file = row_.view.main_file;
  for (const auto& model : catalog->models())
    if (std::ranges::find(model->paths, file) != model->paths.end()) co_return model->name.value();
  const auto problem = std::ranges::find(catalog->problems(), file, &models::Problem::path);
  if (problem != catalog->problems().end()) co_return std::unexpected(problem->cause);
  const auto name = called(wanted_, plan_);
  // For example an adapter; or another revision's file of that name, which the current one overrides.
  const bool no_model =
      std::ranges::find(catalog->not_models(), file, &models::Problem::path) != catalog->not_models().end();
  if (no_model || catalog->contains(name)) co_return name;
  co_return fail(
      models::errc::model_not_found,
      fmt::format("'{}' was downloaded, but its folder is not scanned: set hub_cache to true", file.native()));
}

}  // namespace corral::api
