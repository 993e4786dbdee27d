#include "fleet/announce/announcer.h"

#include <algorithm>

#include "fleet/announce/speed_probe.h"
#include "fleet/base/weight_caches.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr Millis kFirstScan{10};    // polling interval until the first scan
constexpr Millis kLook{500};        // other nodes learn of a change within a second
constexpr Millis kClosely{10'000};  // memory, contexts, rates: expensive to read, and always changing
constexpr Millis kAgain{30'000};    // new files on disk

bool is_due(std::optional<MonoTime>& last, Millis interval, MonoTime now) {
  if (last && now - *last < interval) return false;
  last = now;
  return true;
}

}  // namespace

Announcer::Announcer(AnnouncerParts parts)
    : parts_(std::move(parts)),
      hashes_(parts_.state_dir / "content-hashes.json", {}),
      free_disk_(parts_.home.executor(), parts_.disk, parts_.timers,
                 [folder = parts_.state_dir] { return free_at(folder); }),
      tasks_(parts_.home.executor()) {}

void Announcer::work(bool on) {
  parts_.home.post([this, on] {
    on_ = on;
    if (!on) return;
    if (!std::exchange(runs_, true)) tasks_.spawn("mesh: announcements", run());
    if (!std::exchange(measured_, true) && parts_.measure_speeds)
      tasks_.spawn("mesh: speed", keep_measuring(parts_.timers, parts_.measure_speeds,
                                                 [this](auto speeds) { facts_.weight_speeds = std::move(speeds); }));
  });
}

Task<void> Announcer::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  co_await free_disk_.stop();
}

Task<void> Announcer::run() {
  closely_ = again_ = std::nullopt;
  while (on_) {
    // Without a scan the models are unknown, so the announcement says nothing of them.
    const bool knows = parts_.catalog() != nullptr;
    if (knows) co_await look();
    co_await parts_.timers.sleep_for(knows ? kLook : kFirstScan);
  }
  runs_ = false;
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
  parts_.publish(facts_);
}

Task<void> Announcer::look_closely() {
  facts_.memory = co_await parts_.monitor.sample();
  facts_.disk_free = co_await free_disk_.bytes();
  const auto all = facts_.catalog->models();
  const std::vector<backends::ModelPtr> models(all.begin(), all.end());
  const auto contexts = co_await parts_.router.contexts(models);
  facts_.contexts.clear();
  for (std::size_t i = 0; i < models.size(); ++i) facts_.contexts.emplace(models[i]->name, contexts[i]);
  co_await predict_large(models);
  const auto metrics = co_await parts_.router.metrics();
  facts_.rates.clear();
  for (const auto& [name, counted] : metrics.models) {
    const auto& rates = counted.tokens_per_second;
    if (rates.count() > 0) facts_.rates.emplace(name, rates.sum() / static_cast<double>(rates.count()));
  }
}

// A model that this machine can't hold alone may be split, so its plan needs a prediction by the engine. Usually a load
// asks for the prediction, but these models may never be loaded here. One at a time, each once.
Task<void> Announcer::predict_large(std::vector<backends::ModelPtr> models) {
  std::uint64_t largest = 0;
  for (const auto& pool : facts_.memory) largest = std::max(largest, pool.total);
  for (const auto& model : models) {
    const auto& context = facts_.contexts[model->name];
    const bool large = model->type == ModelType::llm && largest > 0 && context.memory > largest;
    if (!large || context.predicted || !predicted_.insert(model->name).second) continue;
    router::OptionPatch patch;
    auto estimating = parts_.router.estimate(model, std::move(patch));
    co_await std::move(estimating);
    co_return;
  }
}

}  // namespace corral::fleet
