#include "engine/worker/kv_memory_migrator.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace corral::engine {

KvMemoryMigrator::KvMemoryMigrator(Parts parts, const WorkerOptions& options)
    : options_(options),
      clock_(std::move(parts.clock)),
      executor_(std::move(parts.executor)),
      sessions_(parts.sessions),
      sequences_(parts.sequences),
      kv_(parts.kv),
      lane_(parts.lane),
      costs_(parts.costs),
      prompts_(parts.prompts),
      finisher_(parts.finisher),
      counters_(parts.counters) {}

bool KvMemoryMigrator::ensure() {
  const auto ensured = kv_.ensure();
  if (!ensured) {
    finisher_.finish_all(ensured.error());
    return false;
  }
  if (*ensured == KvMemoryManager::Ensured::made) sessions_.unblock();
  return kv_.there();
}

void KvMemoryMigrator::report_refusal() {
  if (const auto error = kv_.take_refusal()) finisher_.finish_all(*error);
}

void KvMemoryMigrator::choose_layout() {
  if (sessions_.active().empty() && sessions_.waiting().empty()) return;
  KvShape shape = wanted();
  shape.cells = kv_.shape().cells;
  if (shape != kv_.shape()) change(shape);
}

KvShape KvMemoryMigrator::wanted() {
  if (!kv_.may_split()) return {};  // an allocation of that layout failed
  if (options_.layout == KvLayout::split) return {.streams = options_.max_sequences};
  if (options_.layout != KvLayout::automatic || !costs_.may_split()) return {};
  views_.clear();
  runnable_.clear();
  const auto view = [this](const Session* session) {
    runnable_.push_back(runnable_view(*session));
    views_.push_back({.tokens = static_cast<std::uint32_t>(session->history.size()),
                      .cached = session->in_cache,
                      .remaining = session->remaining()});
  };
  std::ranges::for_each(sessions_.active(), view);
  for (const Session* session : sessions_.waiting()) {
    if (!lane_.wants(*session)) view(session);  // its prompt will be computed in the lane
  }
  return costs_.layout(views_, {.now = kv_.shape(),
                                .made = kv_.there(),
                                .cells = kv_.cells(),
                                .multiple = options_.cell_multiple,
                                .max_streams = options_.max_sequences,
                                .idle_cells = sequences_.idle_cells(),
                                .chunk = prompts_.beside(runnable_),
                                .may_fill = kv_.may_fill()});
}

bool KvMemoryMigrator::grow(std::uint32_t needed) {
  const auto cells = kv_.growth(needed);
  if (!cells) return false;
  const std::uint32_t before = kv_.cells();
  change({.streams = 0, .cells = *cells});
  if (kv_.cells() > before) {
    ++counters_.growths;
  } else {
    kv_.growth_failed(*cells);
  }
  return true;
}

void KvMemoryMigrator::change(KvShape shape) {
  if (!kv_.there()) return kv_.drop(shape);
  const bool other_layout = shape.streams != kv_.shape().streams;
  const MonoTime begin = clock_();
  struct Moved {
    Session* session;
    std::uint32_t tokens;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Moved> moved;
  for (Session* session : sessions_.active()) {
    moved.push_back({session, session->in_cache, sequences_.save(*session)});
    sequences_.give_up(*session, Sequences::Leave::nothing);
  }
  sequences_.park_all();
  const MonoTime saved = clock_();
  kv_.drop(shape);
  const bool there = ensure();
  const MonoTime made = clock_();
  for (Moved& one : moved) {
    if (!there || !sequences_.put_back(*one.session, one.tokens, one.bytes)) {
      sequences_.park_saved(*one.session, one.tokens, std::move(one.bytes));
      if (one.session->generation) sessions_.wait(*one.session);
    }
    give_back(executor_, std::move(one.bytes));
  }
  if (!there) return;
  counters_.layout_changes += other_layout ? 1 : 0;
  using Ms = std::chrono::duration<double, std::milli>;
  costs_.memory_made(Ms(made - saved).count());
  counters_.layout_ms += Ms(clock_() - begin).count();
}

}  // namespace corral::engine
