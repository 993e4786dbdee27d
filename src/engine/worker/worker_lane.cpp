// Long prompts beside running streams: into the lane and back.
#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>
#include <utility>

#include "engine/worker/worker_core.h"

namespace corral::engine {

// A session that is active or waiting, by what is known of its cells now.
bool WorkerCore::wants_lane(const Session& session) const {
  if (!lane_ || session.generation->was_aside || std::min(threads_.n_threads, threads_.n_threads_batch) < 2)
    return false;
  // A place of a fixed size is too small, and it is known by then.
  if (options_.layout == KvLayout::split) return false;
  // It comes back with cells of its own for all: shared ones are worth more than what it gains.
  if (shape_.unified() && session.borrowed > session.pending()) return false;
  const std::uint32_t streams = roster_.decoding();
  std::uint32_t allowance = prompt_allowance(streams, true);
  // While somebody is there, what passes take with all threads isn't measured.
  if (lane_busy_) allowance = std::max(allowance, 1u);
  return belongs_in_lane(
      {.pending = session.pending(), .least = options_.lane_tokens, .decoding = streams, .allowance = allowance});
}

void WorkerCore::move_aside() {
  if (!lane_) return;
  std::vector<Session*> wanting;
  std::ranges::copy_if(roster_.active(), std::back_inserter(wanting),
                       [this](const Session* one) { return wants_lane(*one); });
  if (wanting.empty()) return;
  std::ranges::sort(wanting, {}, [](const Session* session) { return session->generation->order; });
  auto rest = std::span(wanting);
  if (!lane_busy_) {
    start_lane(*wanting.front());
    rest = rest.subspan(1);
  }
  // The others wait for it with what they have in cells: in small chunks they would get nowhere and slow the streams.
  for (Session* session : rest) {
    session->generation->awaits_lane = true;
    roster_.wait(*session);
  }
}

void WorkerCore::start_lane(Session& session) {
  in_hand_ = &session;
  Generation& generation = *session.generation;
  brought_ = {};
  if (session.in_cache > 0) {
    if (auto bytes = memory_->save(session.sequence); !bytes.empty())
      brought_ = {.tokens = session.in_cache,
                  .bytes = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes))};
  }
  PrefillJob job{.tokens = {}, .cached = brought_.tokens, .bytes = brought_.bytes};
  // The last token is computed here: its logits are what is wanted.
  job.tokens.assign(session.history.begin(), session.history.end() - 1);
  generation.was_aside = true;
  if (!generation.first_pass) {
    generation.first_pass = clock_();
    counters_.queue_seconds.observe(seconds_between(generation.posted, *generation.first_pass));
    writer_.tell_prompt(session, session.in_cache);
  }
  if (generation.report_prompt) job.computed = [box = box_](std::uint32_t done) { box->post(PrefillStep{done}); };
  sequences_.give_up(session, Sequences::Leave::claim);
  roster_.set_aside(session);
  lane_busy_ = true;
  share_threads();
  try {
    lane_->start(std::move(job));
  } catch (...) {
    lane_busy_ = false;
    throw;
  }
  in_hand_ = nullptr;
}

// The generation ends before its prompt is computed. The lane's result still comes, and nobody wants it.
void WorkerCore::give_up_lane(Session& session) {
  lane_->stop();
  // What it had in cells before is worth as much as ever.
  if (brought_.tokens > 0) sequences_.park_saved(session, brought_.tokens, *brought_.bytes);
  brought_ = {};
  sequences_.give_up(session, Sequences::Leave::nothing);
}

// Those of a job come before its result, so this is about the session that is there now, if one is.
void WorkerCore::apply(PrefillStep&& step) {
  if (roster_.aside() != nullptr) writer_.tell_prompt(*roster_.aside(), step.done);
}

void WorkerCore::apply(PrefillResult&& result) {
  lane_busy_ = false;
  share_threads();
  Brought brought = std::exchange(brought_, {});
  if (roster_.aside() == nullptr) return;
  Session& session = *roster_.aside();
  in_hand_ = &session;
  if (result.tokens == 0 && brought.tokens > 0) {
    result.tokens = brought.tokens;
    result.bytes = *brought.bytes;
  }
  brought = {};
  ++counters_.lane_prompts;
  counters_.lane_tokens += result.computed;
  counters_.prompt_tokens += result.computed;
  counters_.prompt_ms += result.ms;

  roster_.wait(session);
  if (!ensure_memory()) {
    in_hand_ = nullptr;
    return;
  }
  // The others have gone on meanwhile: it must be able to stay.
  const CellDemand demand{.cells = static_cast<std::uint32_t>(session.history.size()) + foreseen(session)};
  const auto put_back = [&] {
    const bool room = roster_.active().empty() || sequences_.cells().has_room(claims(), demand);
    return room && sequences_.put_back(session, result.tokens, result.bytes);
  };
  bool is_back = result.tokens < memory_->cells_per_sequence() && put_back();
  if (!is_back && !shape_.unified()) {
    change_memory(pool());
    in_hand_ = memory_ && session.generation ? &session : nullptr;
    if (in_hand_ == nullptr) return;  // there was no memory
    is_back = put_back();
  }
  if (is_back) {
    roster_.activate(session);
  } else {
    // The running streams have all cells: it waits, as one that was preempted.
    sequences_.park_saved(session, result.tokens, std::move(result.bytes));
  }
  in_hand_ = nullptr;
}

// The lane gets half of the threads while it computes, and all of them when nobody else does.
void WorkerCore::share_threads() {
  costs_->share_threads(lane_busy_);
  if (lane_busy_) {
    const std::int32_t all = threads_.n_threads_batch;
    lane_->set_threads(roster_.active().empty() ? all : std::max(1, all / 2));
  }
  SetThreads give = threads_;
  if (lane_busy_) {
    give.n_threads = std::max(1, threads_.n_threads - threads_.n_threads / 2);
    give.n_threads_batch = std::max(1, threads_.n_threads_batch - threads_.n_threads_batch / 2);
  }
  if (give.n_threads == given_.n_threads && give.n_threads_batch == given_.n_threads_batch) return;
  given_ = give;
  if (memory_) memory_->set_threads(give.n_threads, give.n_threads_batch);
}

}  // namespace corral::engine
