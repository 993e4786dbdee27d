#include "engine/worker/memory_mover.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace corral::engine {

MemoryMover::MemoryMover(Parts parts, const WorkerOptions& options)
    : options_(options),
      clock_(std::move(parts.clock)),
      chores_(std::move(parts.chores)),
      roster_(parts.roster),
      sequences_(parts.sequences),
      keeper_(parts.keeper),
      lane_(parts.lane),
      costs_(parts.costs),
      prompts_(parts.prompts),
      endings_(parts.endings),
      counters_(parts.counters) {}

bool MemoryMover::ensure() {
  const auto ensured = keeper_.ensure();
  if (!ensured) {
    endings_.finish_all(ensured.error());
    return false;
  }
  if (*ensured == MemoryKeeper::Ensured::made) roster_.feed();
  return keeper_.there();
}

void MemoryMover::tell_refusal() {
  if (const auto error = keeper_.take_refusal()) endings_.finish_all(*error);
}

void MemoryMover::choose_layout() {
  if (roster_.active().empty() && roster_.waiting().empty()) return;
  KvShape shape = wanted();
  shape.cells = keeper_.shape().cells;
  if (shape != keeper_.shape()) change(shape);
}

KvShape MemoryMover::wanted() {
  if (!keeper_.may_split()) return {};  // it was tried and there was no memory for it
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
  std::ranges::for_each(roster_.active(), view);
  for (const Session* session : roster_.waiting()) {
    if (!lane_.wants(*session)) view(session);  // who belongs there won't be computed here
  }
  return costs_.layout(views_, {.now = keeper_.shape(),
                                .made = keeper_.there(),
                                .cells = keeper_.cells(),
                                .multiple = options_.cell_multiple,
                                .max_streams = options_.max_sequences,
                                .idle_cells = sequences_.idle_cells(),
                                .chunk = prompts_.beside(runnable_),
                                .may_fill = keeper_.may_fill()});
}

bool MemoryMover::grow(std::uint32_t needed) {
  const auto cells = keeper_.growth(needed);
  if (!cells) return false;
  const std::uint32_t before = keeper_.cells();
  change({.streams = 0, .cells = *cells});
  if (keeper_.cells() > before) {
    ++counters_.growths;
  } else {
    keeper_.growth_failed(*cells);
  }
  return true;
}

void MemoryMover::change(KvShape shape) {
  if (!keeper_.there()) return keeper_.drop(shape);
  const bool other_layout = shape.streams != keeper_.shape().streams;
  const MonoTime begin = clock_();
  struct Moved {
    Session* session;
    std::uint32_t tokens;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Moved> moved;
  for (Session* session : roster_.active()) {
    moved.push_back({session, session->in_cache, sequences_.save(*session)});
    sequences_.give_up(*session, Sequences::Leave::nothing);
  }
  sequences_.park_all();
  const MonoTime saved = clock_();
  keeper_.drop(shape);
  const bool there = ensure();
  const MonoTime made = clock_();
  for (Moved& one : moved) {
    if (!there || !sequences_.put_back(*one.session, one.tokens, one.bytes)) {
      sequences_.park_saved(*one.session, one.tokens, std::move(one.bytes));
      if (one.session->generation) roster_.wait(*one.session);
    }
    give_back(chores_, std::move(one.bytes));
  }
  if (!there) return;
  counters_.layout_changes += other_layout ? 1 : 0;
  using Ms = std::chrono::duration<double, std::milli>;
  costs_.memory_made(Ms(made - saved).count());
  counters_.layout_ms += Ms(clock_() - begin).count();
}

}  // namespace corral::engine
