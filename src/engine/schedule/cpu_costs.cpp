#include "engine/schedule/cpu_costs.h"

#include <algorithm>

namespace corral::engine {
namespace {

constexpr double kUnknownPassMs = 100;

}  // namespace

const PassCosts& CpuCosts::rows() const {
  if (options_.measure_rows) return pace().rows;
  return flat_;
}

std::uint32_t CpuCosts::filled_rows(std::uint32_t rows, std::uint32_t padding) const {
  return options_.measure_rows ? engine::filled_rows(rows, padding, pace().rows) : rows;
}

Turn CpuCosts::turn(std::uint32_t running, std::uint32_t padding) {
  if (!options_.measure_rows) return {.sessions = running};
  const Turn turn =
      sessions_per_pass({.running = running, .padding = padding, .in_turns = in_turns_ == running}, pace().rows);
  if (!turn.trial) in_turns_ = turn.sessions < running ? running : 0;
  return turn;
}

// Time for one token of each of so many running streams, without prompts, with padding rows if possible; 0: not known.
double CpuCosts::streams_alone(std::uint32_t streams, bool may_fill, const Pace& pace) const {
  return streams_ms({.running = streams, .padding = may_fill ? max_padding() : 0}, pace.rows);
}

// The time of the streams alone must be known first. But if more sessions wait than run, a pass to measure it would
// delay more than it gains.
std::uint32_t CpuCosts::prompt_allowance(const PromptsView& view) const {
  const Pace& known = view.all_threads ? with_all_ : pace();
  const double alone = streams_alone(view.decoding, view.may_fill, known);
  if (view.decoding > 0 && alone == 0 && view.prompts <= view.decoding) return 0;
  return known.steps.allowance(view.decoding, alone, view.prompts, options_.target_step_ms, view.limit);
}

KvShape CpuCosts::layout(std::span<const LayoutView> sessions, LayoutFacts facts) {
  const auto decoding = static_cast<std::uint32_t>(
      std::ranges::count_if(sessions, [](const LayoutView& one) { return one.tokens - one.cached == 1; }));
  const double pass_ms = streams_alone(decoding, facts.may_fill, pace());
  facts.foreign_cell_ms = options_.foreign_cell_ms;
  facts.move_cell_ms = options_.move_cell_ms;
  facts.make_ms = make_ms_;
  facts.pass_ms = pass_ms > 0 ? pass_ms : kUnknownPassMs;
  quiet_times_.observe(sessions, facts);
  facts.foresight = quiet_times_.foresight();
  return choose_layout(sessions, facts);
}

void CpuCosts::memory_made(double ms) { make_ms_ = 0.5 * make_ms_ + 0.5 * ms; }

void CpuCosts::observe(const PassTime& pass) {
  half_known_ |= shared_;
  if (pass.prefill == 0) return pace().rows.observe(pass.rows, pass.ms);
  const double alone = streams_alone(pass.decoding, pass.may_fill, pace());
  if (pass.decoding > 0 && alone == 0) return;
  pace().steps.observe({.decoding = pass.decoding, .prefill = pass.prefill, .ms = pass.ms, .decode_ms = alone});
}

// The measurements with all threads are the start values for half of them.
void CpuCosts::share_threads(bool shared) {
  if (shared && !shared_ && !half_known_) with_half_ = {.steps = with_all_.steps, .rows = with_all_.rows.elsewhere()};
  shared_ = shared;
}

}  // namespace corral::engine
