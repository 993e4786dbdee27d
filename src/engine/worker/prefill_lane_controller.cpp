#include "engine/worker/prefill_lane_controller.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace corral::engine {

SetThreads beside_lane(SetThreads all) {
  return {.n_threads = std::max(1, all.n_threads - all.n_threads / 2),
          .n_threads_batch = std::max(1, all.n_threads_batch - all.n_threads_batch / 2)};
}

std::int32_t threads_of_lane(SetThreads all, bool alone) {
  return alone ? all.n_threads_batch : std::max(1, all.n_threads_batch / 2);
}

PrefillLaneController::PrefillLaneController(Parts parts, const WorkerOptions& options)
    : options_(options),
      lane_(std::move(parts.lane)),
      step_(std::move(parts.step)),
      clock_(std::move(parts.clock)),
      sessions_(parts.sessions),
      sequences_(parts.sequences),
      kv_(parts.kv),
      costs_(parts.costs),
      prompts_(parts.prompts),
      writer_(parts.writer),
      faults_(parts.faults),
      counters_(parts.counters),
      threads_(options.threads) {}

bool PrefillLaneController::wants(const Session& session) const {
  if (!lane_ || session.generation->was_aside || std::min(threads_.n_threads, threads_.n_threads_batch) < 2)
    return false;
  if (!session.media.empty()) return false;  // the lane computes tokens only
  // The lane computes with the adapter scales of the load.
  if (!session.shared->adapters.empty()) return false;
  // With a fixed split layout, a prompt that is larger than its part could not return. In the passes it ends with
  // context_full.
  if (options_.layout == KvLayout::split) return false;
  // From the lane it returns with cells of its own for all tokens: the shared cells are worth more than the gain.
  if (kv_.shape().unified() && session.borrowed > session.pending()) return false;
  const std::uint32_t streams = sessions_.decoding();
  std::uint32_t allowance = prompts_.beside(streams, true);
  // While the lane is busy, passes with all threads are not measured.
  if (busy_) allowance = std::max(allowance, 1u);
  return belongs_in_lane(
      {.pending = session.pending(), .least = options_.lane_tokens, .decoding = streams, .allowance = allowance});
}

void PrefillLaneController::move_aside() {
  if (!lane_) return;
  std::vector<Session*> wanting;
  std::ranges::copy_if(sessions_.active(), std::back_inserter(wanting),
                       [this](const Session* one) { return wants(*one); });
  if (wanting.empty()) return;
  std::ranges::sort(wanting, {}, [](const Session* session) { return session->generation->order; });
  auto rest = std::span(wanting);
  if (!busy_) {
    start(*wanting.front());
    rest = rest.subspan(1);
  }
  // The others wait for the lane and keep their cells: in small chunks they would be slow and slow the streams down.
  for (Session* session : rest) {
    session->generation->awaits_lane = true;
    sessions_.wait(*session);
  }
}

void PrefillLaneController::start(Session& session) {
  faults_.session = &session;
  Generation& generation = *session.generation;
  brought_ = {};
  if (session.in_cache > 0) {
    if (auto bytes = sequences_.save(session); !bytes.empty())
      brought_ = {.tokens = session.in_cache,
                  .bytes = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes))};
  }
  PrefillJob job{.tokens = {}, .cached = brought_.tokens, .bytes = brought_.bytes};
  // The last token is computed in a pass: its logits are needed.
  job.tokens.assign(session.history.begin(), session.history.end() - 1);
  generation.was_aside = true;
  if (!generation.first_pass) {
    generation.first_pass = clock_();
    counters_.queue_seconds.observe(seconds_between(generation.posted, *generation.first_pass));
    writer_.report_progress(session, session.in_cache);
  }
  if (generation.report_prompt) job.computed = [step = step_](std::uint32_t done) { step(PrefillStep{done}); };
  sequences_.give_up(session, Sequences::Leave::claim);
  sessions_.set_aside(session);
  busy_ = true;
  share_threads();
  try {
    lane_->start(std::move(job));
  } catch (...) {
    busy_ = false;
    throw;
  }
  faults_.session = nullptr;
}

void PrefillLaneController::give_up(Session& session) {
  lane_->stop();
  // The cells that it had before are still valid.
  if (brought_.tokens > 0) sequences_.park_saved(session, brought_.tokens, *brought_.bytes);
  brought_ = {};
  sequences_.give_up(session, Sequences::Leave::nothing);
}

void PrefillLaneController::forget() noexcept {
  brought_ = {};
  if (busy_) lane_->stop();
}

// The steps of a job arrive before its result, so the step is of the session in the lane, if there is one.
void PrefillLaneController::report(const PrefillStep& step) const {
  if (sessions_.aside() != nullptr) writer_.report_progress(*sessions_.aside(), step.done);
}

std::optional<PrefillLaneController::LaneResult> PrefillLaneController::take(PrefillResult result) {
  busy_ = false;
  share_threads();
  const Brought brought = std::exchange(brought_, {});
  if (sessions_.aside() == nullptr) return std::nullopt;
  Session& session = *sessions_.aside();
  faults_.session = &session;
  if (result.tokens == 0 && brought.tokens > 0) {
    result.tokens = brought.tokens;
    result.bytes = *brought.bytes;
  }
  ++counters_.lane_prompts;
  counters_.lane_tokens += result.computed;
  counters_.prompt_tokens += result.computed;
  counters_.prompt_ms += result.ms;
  sessions_.wait(session);
  return LaneResult{session, result.tokens, std::move(result.bytes)};
}

void PrefillLaneController::set_threads(SetThreads all) {
  threads_ = all;
  share_threads();
}

void PrefillLaneController::share_threads() {
  costs_.share_threads(busy_);
  if (busy_) lane_->set_threads(threads_of_lane(threads_, sessions_.active().empty()));
  kv_.set_threads(busy_ ? beside_lane(threads_) : threads_);
}

}  // namespace corral::engine
