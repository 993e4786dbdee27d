#include "api/supply/auto_pull.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/supply/known_names.h"
#include "api/supply/pulling.h"
#include "async/spawned_task.h"
#include "base/shell_word.h"
#include "dialects/error_filter.h"
#include "downloads/names.h"
#include "http/sse.h"
#include "models/errors.h"
#include "models/text.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr Millis kLook{1'000};

using Upstream = async::SpawnedTask<http::Response>;

async::Task<Result<backends::ModelPtr>> fetched(std::unique_ptr<Pull> pull, SupplyContext& context) {
  while (!pull->ended()) co_await pull->next(kLook);
  const auto name = co_await pull->result();
  if (!name) co_return std::unexpected(name.error());
  co_return co_await context.files.models.find(*name);
}

async::Task<http::Response> after_fetch(SupplyContext& context, std::unique_ptr<Pull> pull, WhenHere then) {
  auto model = co_await fetched(std::move(pull), context);
  if (!model) co_return dialects::error_response(model.error());
  auto answering = then(std::move(*model));
  co_return co_await std::move(answering);
}

// Pings until the answer exists, then its body.
class AnswerToCome final : public http::BodySource {
 public:
  AnswerToCome(async::Timers& timers, Millis ping, std::string_view error_event, std::unique_ptr<Upstream> answering)
      : timers_(timers), ping_(ping), error_event_(error_event), answering_(std::move(answering)) {}

  async::Task<Result<std::string_view>> read() override {
    if (source_) co_return co_await source_->read();
    if (!answering_) co_return std::string_view();
    const bool silent = ping_ == Millis(0);
    bool done = co_await answering_->wait(timers_, silent ? kUsualPing : ping_);
    while (!done && silent) done = co_await answering_->wait(timers_, kUsualPing);
    if (!done) co_return http::kSsePing;
    auto answer = answering_->take();
    answering_.reset();
    if (answer.failure) {
      if (!error_event_.empty()) text_ = fmt::format("event: {}\n", error_event_);
      text_ += protocol::sse_error_event(*answer.failure);
      co_return text_;
    }
    if (answer.body.streaming()) {
      source_ = answer.body.take_source();
      co_return co_await source_->read();
    }
    text_ = std::move(answer.body.text());
    co_return text_;
  }

 private:
  async::Timers& timers_;
  const Millis ping_;
  const std::string error_event_;
  std::unique_ptr<Upstream> answering_;
  std::unique_ptr<http::BodySource> source_;
  std::string text_;
};

}  // namespace

bool fetches(SupplyContext& context, const http::Caller& caller, const std::string& name, Error& why) {
  if (context.supply == nullptr || context.core.one_model || why.code != models::errc::model_not_found) return false;
  const auto source = downloads::parse_source(source_of(context, name));
  if (!source || source->kind != downloads::SourceKind::hub) return false;
  if (context.supply->auto_pull && has(caller, kAdmin) && !context.supply->download_manager.offline()) return true;
  if (!why.message.ends_with('?')) why.message += '.';
  why.message +=
      fmt::format(" Download it from the hub with: corral pull {}", shell_word(models::printable(name, 256)));
  return false;
}

backends::ModelPtr coming_model(const std::string& name, ModelType type) {
  auto info = std::make_shared<models::ModelInfo>();
  info->name = ModelName(name);
  info->checkpoint = name;
  info->type = type;
  return info;
}

async::Task<http::Response> answer_when_here(SupplyContext& context, std::string name, std::optional<Millis> ping,
                                             WhenHere then, std::string_view error_event) {
  name = source_of(context, std::move(name));
  auto plan = co_await Pull::plan(context, name);
  if (!plan) co_return dialects::error_response(plan.error());
  PullRequest wanted{.source = std::move(name)};
  auto pull = co_await Pull::begin(context, std::move(wanted), std::move(*plan));
  if (!pull) co_return dialects::error_response(pull.error());
  co_await (*pull)->first();
  auto task = after_fetch(context, std::move(*pull), std::move(then));
  if (!ping) co_return co_await std::move(task);
  const auto executor = co_await async::asio::this_coro::executor;
  auto answering = std::make_unique<Upstream>(executor, "answer of a model to come", std::move(task));
  co_return http::Response::event_stream(
      std::make_unique<AnswerToCome>(context.core.timers, *ping, error_event, std::move(answering)));
}

}  // namespace corral::api
