#include "app/backend_settings.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace corral::app {
namespace {

std::vector<std::string> texts_of(const backends::KnownBackends& known) {
  std::vector<std::string> texts;
  for (const auto* list : {&known.problems, &known.warnings})
    for (const auto& problem : *list) texts.push_back(problem.message);
  return texts;
}

void log_new(const std::vector<std::string>& now, const std::vector<std::string>& before) {
  for (const auto& text : now)
    if (std::ranges::find(before, text) == before.end()) log::warning("app", "{}", text);
}

}  // namespace

BackendSettings::BackendSettings(std::filesystem::path folder)
    : folder_(std::move(folder)),
      known_(std::make_shared<const backends::KnownBackends>(backends::read_backends(folder_))) {
  log_new(texts_of(*known_), {});
}

std::shared_ptr<const backends::KnownBackends> BackendSettings::known() const {
  const MutexLock lock(mutex_);
  return known_;
}

std::vector<std::string> BackendSettings::problems() const { return texts_of(*known()); }

void BackendSettings::reread() {
  const MutexLock one_at_a_time(rereading_);
  const auto before = known();
  auto fresh = backends::read_backends(folder_, before.get());
  log_new(texts_of(fresh), texts_of(*before));
  const MutexLock lock(mutex_);
  known_ = std::make_shared<const backends::KnownBackends>(std::move(fresh));
}

}  // namespace corral::app
