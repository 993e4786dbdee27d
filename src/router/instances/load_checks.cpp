#include "router/instances/load_checks.h"

#include <exception>

#include "base/log.h"
#include "router/base/errors.h"
#include "router/base/failure.h"

namespace corral::router {
namespace {

bool is_over(const std::shared_ptr<async::TaskGroup>& group) { return group->running() == 0; }

}  // namespace

void LoadChecks::on(const residency::CheckLoad& action) {
  std::erase_if(given_up_, is_over);
  std::erase_if(looks_, [](const auto& entry) { return is_over(entry.second); });
  auto& group = looks_[action.instance];
  group = std::make_shared<async::TaskGroup>(home_);
  const auto keep = group;  // it may end at once, and another start
  keep->spawn("look at files", look(action));
}

void LoadChecks::on(const residency::DropCheck& action) {
  const auto found = looks_.find(action.instance);
  if (found == looks_.end()) return;
  found->second->cancel();
  given_up_.push_back(std::move(found->second));
  looks_.erase(found);
}

async::Task<void> LoadChecks::look(residency::CheckLoad asked) {
  // A task that is cancelled from the code that it calls must have suspended once.
  co_await async::asio::post(async::use_task);
  Result<residency::SpecPtr> found;
  std::exception_ptr failure;
  try {
    auto looking = looked_at(asked.spec);
    found = co_await std::move(looking);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    if (is_cancellation(failure)) std::rethrow_exception(failure);
    log::error("router", "the check of the files of {} failed: {}", asked.spec->name.value(), words_of(failure));
    found = fail(errc::internal, "the check of the model's files failed inside the server: see its log");
  }
  if (found) {
    driver_.dispatch(residency::LoadChecked{asked.instance, asked.check, std::move(*found)});
  } else {
    driver_.dispatch(residency::CheckFailed{asked.instance, asked.check, std::move(found.error())});
  }
}

async::Task<Result<residency::SpecPtr>> LoadChecks::looked_at(residency::SpecPtr asked) {
  auto spec = std::make_shared<LoadSpec>(LoadSpec::of(asked));
  const auto there = co_await spec->backend->check_files(spec->model, spec->load_options);
  if (!there) co_return std::unexpected(there.error());
  spec->files = spec->backend->files_state(*spec->model, spec->load_options);
  const auto possible = co_await spec->backend->preflight(spec->model, spec->load_options);
  if (!possible) co_return std::unexpected(possible.error());
  co_await memory_.look_at(*spec);
  co_return std::move(spec);
}

async::Task<void> LoadChecks::stop() {
  const auto looks = looks_;
  for (const auto& [instance, group] : looks) co_await group->join();
  const auto given_up = given_up_;
  for (const auto& group : given_up) co_await group->join();
}

std::size_t LoadChecks::tasks() const {
  std::size_t count = 0;
  for (const auto& [instance, group] : looks_) count += group->running();
  for (const auto& group : given_up_) count += group->running();
  return count;
}

}  // namespace corral::router
