#include "api/admin/children.h"

#include <fmt/format.h>

#include "async/task_group.h"
#include "residency/errors.h"
#include "router/base/errors.h"

namespace corral::api {
namespace {

constexpr std::uint64_t kLargestAnswer = 16ull << 20;

using Answers = std::shared_ptr<std::vector<ChildAnswer>>;

async::Task<std::optional<std::string>> ask(router::Resident child, std::string path) {
  const auto executor = co_await async::asio::this_coro::executor;
  const http::RequestHead head{"GET", std::move(path), {}};
  auto answer = co_await child.target(executor).send(head, {});
  if (!answer || answer->head.status != 200) co_return std::nullopt;
  auto text = co_await answer->body.read_all(kLargestAnswer);
  co_return text ? std::optional(std::move(*text)) : std::nullopt;
}

// `child` keeps the process's object alive, `answers` the place for the answer.
async::Task<void> ask_in_time(async::Timers& timers, router::Resident child, std::string path, Millis patience,
                              Answers answers, std::size_t place) {
  auto asking = ask(std::move(child), std::move(path));
  auto text = co_await async::with_timeout(timers, patience, std::move(asking));
  if (text) (*answers)[place].text = std::move(*text);
}

async::Task<std::vector<ChildAnswer>> ask_all(CoreContext& context, std::vector<router::Resident> residents,
                                              std::string path, Millis patience) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto answers = std::make_shared<std::vector<ChildAnswer>>();
  for (const auto& resident : residents) answers->push_back({resident.model, std::nullopt});
  async::TaskGroup asking(executor);
  for (std::size_t i = 0; i < residents.size(); ++i)
    asking.spawn("ask child", ask_in_time(context.timers, residents[i], path, patience, answers, i));
  co_await asking.join();
  co_return std::move(*answers);
}

}  // namespace

namespace {

// Reads the whole answer, so that it doesn't depend on a process that is about to stop.
async::Task<Result<http::Response>> exchange(router::Resident child, http::RequestHead head, std::string body) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto answer = co_await child.target(executor).send(head, body);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto text = co_await answer->body.read_all(kLargestAnswer);
  if (!text) co_return std::unexpected(std::move(text.error()));
  co_return http::Response::json(answer->head.status, std::move(*text));
}

}  // namespace

async::Task<Result<http::Response>> send_child(CoreContext& context, ModelName model, http::RequestHead head,
                                               std::string body, Millis patience) {
  auto residents = co_await context.router.residents();
  std::erase_if(residents, [&model](const router::Resident& resident) { return resident.model != model; });
  if (residents.empty()) {
    co_return fail(residency::errc::not_loaded, fmt::format("'{}' is not loaded", model.value()), "model");
  }
  auto asking = exchange(std::move(residents.back()), std::move(head), std::move(body));
  auto answer = co_await async::with_timeout(context.timers, patience, std::move(asking));
  if (answer && *answer) co_return std::move(*answer);
  co_return fail(router::errc::backend_unreachable, fmt::format("the engine of '{}' does not respond", model.value()));
}

async::Task<std::vector<ChildAnswer>> ask_children(CoreContext& context, std::string path, Millis patience) {
  auto residents = co_await context.router.residents();
  co_return co_await ask_all(context, std::move(residents), std::move(path), patience);
}

async::Task<std::optional<ChildAnswer>> ask_child(CoreContext& context, ModelName model, std::string path,
                                                  Millis patience) {
  auto residents = co_await context.router.residents();
  std::erase_if(residents, [&model](const router::Resident& resident) { return resident.model != model; });
  if (residents.empty()) co_return std::nullopt;
  auto answers = co_await ask_all(context, std::move(residents), std::move(path), patience);
  co_return std::move(answers.back());
}

}  // namespace corral::api
