#include "fleet/announcer.h"

#include <sys/statvfs.h>

namespace corral::fleet {

using async::Task;

namespace {

constexpr Millis kFirstScan{10};    // is waited for in such steps
constexpr Millis kLook{500};        // others hear of a change within a second
constexpr Millis kClosely{10'000};  // memory, contexts, rates: what costs more, and moves all the time
constexpr Millis kAgain{30'000};    // new files on disk

std::uint64_t free_bytes(const std::filesystem::path& folder) {
  struct statvfs found{};
  return ::statvfs(folder.c_str(), &found) == 0 ? std::uint64_t{found.f_bavail} * found.f_frsize : 0;
}

bool is_due(std::optional<MonoTime>& last, Millis interval, MonoTime now) {
  if (last && now - *last < interval) return false;
  last = now;
  return true;
}

}  // namespace

Announcer::Announcer(AnnouncerParts parts)
    : parts_(std::move(parts)), hashes_(parts_.state_dir / "content-hashes.json", {}), tasks_(parts_.home.executor()) {}

void Announcer::work(bool on) {
  parts_.home.post([this, on] {
    on_ = on;
    if (on && tasks_.running() == 0) tasks_.spawn("mesh: announcements", run());
  });
}

Task<void> Announcer::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Announcer::run() {
  closely_ = again_ = std::nullopt;
  while (on_) {
    // A node that said nothing yet isn't believed to have no models.
    const bool knows = parts_.catalog() != nullptr;
    if (knows) co_await look();
    co_await parts_.timers.sleep_for(knows ? kLook : kFirstScan);
  }
}

Task<void> Announcer::look() {
  const auto now = parts_.timers.now();
  if (is_due(again_, kAgain, now)) parts_.look_again();
  auto catalog = parts_.catalog();
  const bool other_models = catalog != facts_.catalog;
  facts_.catalog = std::move(catalog);
  facts_.report = co_await parts_.router.report();
  const bool other_memory =
      facts_.report.snapshot.revision != std::exchange(revision_, facts_.report.snapshot.revision);
  if (other_models) {
    const auto models = facts_.catalog->models();
    hashes_.want({models.begin(), models.end()});
  }
  if (is_due(closely_, other_models ? Millis(0) : kClosely, now)) {
    co_await look_closely();
  } else if (other_memory) {
    facts_.memory = co_await parts_.monitor.sample();
  }
  facts_.contents.clear();
  for (const auto& model : facts_.catalog->models())
    if (const auto content = hashes_.find(*model)) facts_.contents.emplace(model->name, *content);
  facts_.demand = parts_.demand();
  parts_.tell(facts_);
}

Task<void> Announcer::look_closely() {
  facts_.memory = co_await parts_.monitor.sample();
  facts_.disk_free = free_bytes(parts_.state_dir);
  facts_.pins = co_await parts_.router.pins();
  const auto all = facts_.catalog->models();
  const std::vector<backends::ModelPtr> models(all.begin(), all.end());
  const auto contexts = co_await parts_.router.contexts(models);
  facts_.contexts.clear();
  for (std::size_t i = 0; i < models.size(); ++i) facts_.contexts.emplace(models[i]->name, contexts[i]);
  const auto metrics = co_await parts_.router.metrics();
  facts_.rates.clear();
  for (const auto& [name, counted] : metrics.models) {
    const auto& rates = counted.tokens_per_second;
    if (rates.count() > 0) facts_.rates.emplace(name, rates.sum() / static_cast<double>(rates.count()));
  }
}

}  // namespace corral::fleet
