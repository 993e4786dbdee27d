#include "fleet/membership/probe.h"

#include <fmt/format.h>

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr std::size_t kLongestProblem = 300;

}  // namespace

mesh::Frame to_frame(const ProbeAsk& ask) {
  mesh::Frame frame{mesh::FrameKind::probe_ask, {}};
  mesh::ByteWriter(frame.payload).number<std::uint64_t>(ask.number).sized<std::uint16_t>(mesh::to_text(ask.address));
  return frame;
}

mesh::Frame to_frame(const ProbeAnswer& answer) {
  mesh::Frame frame{mesh::FrameKind::probe_answer, {}};
  mesh::ByteWriter(frame.payload)
      .number<std::uint64_t>(answer.number)
      .number<std::uint64_t>(static_cast<std::uint64_t>(epoch_millis(answer.time)))
      .sized<std::uint16_t>(std::string_view(answer.problem).substr(0, kLongestProblem));
  return frame;
}

std::optional<ProbeAsk> read_probe_ask(std::string_view payload) {
  mesh::ByteReader in(payload);
  const auto number = in.number<std::uint64_t>();
  auto address = mesh::parse_address(in.sized<std::uint16_t>());
  if (!in.ok() || !address) return std::nullopt;
  return ProbeAsk{number, std::move(*address)};
}

std::optional<ProbeAnswer> read_probe_answer(std::string_view payload) {
  mesh::ByteReader in(payload);
  ProbeAnswer answer;
  answer.number = in.number<std::uint64_t>();
  constexpr std::uint64_t kLatest = 253'402'300'799'000;  // the end of 9999
  answer.time = WallTime(Millis(std::min(in.number<std::uint64_t>(), kLatest)));
  answer.problem = in.sized<std::uint16_t>();
  return in.ok() ? std::optional(std::move(answer)) : std::nullopt;
}

Probe::Probe(async::Executor executor, async::Timers& timers, mesh::Peers& peers, mesh::Network& network)
    : executor_(executor), timers_(timers), peers_(peers), network_(network), tasks_(executor) {}

Task<void> Probe::stop() {
  stopped_ = true;
  tasks_.cancel();
  co_await tasks_.join();
}

Task<bool> Probe::wait(std::shared_ptr<Question> question) {
  co_await question->answered.wait();
  co_return true;
}

Task<Result<ProbeResult>> Probe::ask(mesh::NodeId peer, mesh::Address address) {
  const auto question = std::make_shared<Question>(executor_);
  const std::pair key(peer, ++last_);
  struct Asked {
    Probe& probe;
    std::pair<mesh::NodeId, std::uint64_t> key;
    ~Asked() { probe.questions_.erase(key); }
  };
  questions_.emplace(key, question);
  const Asked asked{*this, key};
  const auto sent = timers_.wall_now();
  peers_.send(peer, to_frame(ProbeAsk{key.second, address}));
  auto waiting = wait(question);
  const auto in_time = co_await async::with_timeout(timers_, kPatience, std::move(waiting));
  if (!in_time) {
    co_return fail(mesh::errc::timed_out, fmt::format("no answer within {} s", kPatience.count() / 1000));
  }
  const auto& answer = *question->answer;
  co_return ProbeResult{answer.problem, std::chrono::duration_cast<Millis>(answer.time - sent)};
}

void Probe::frame(const mesh::NodeId& from, const mesh::Frame& frame) {
  if (frame.kind == mesh::FrameKind::probe_ask) {
    auto ask = read_probe_ask(frame.payload);
    // While one request of a peer is running, its others aren't answered.
    if (ask && !stopped_ && serving_.insert(from).second) tasks_.spawn("mesh: probe", serve(from, std::move(*ask)));
  } else if (frame.kind == mesh::FrameKind::probe_answer) {
    auto answer = read_probe_answer(frame.payload);
    if (!answer) return;
    const auto found = questions_.find({from, answer->number});
    if (found == questions_.end() || found->second->answer) return;
    found->second->answer = std::move(*answer);
    found->second->answered.set();
  }
}

Task<void> Probe::serve(mesh::NodeId from, ProbeAsk ask) {
  struct Serving {
    Probe& probe;
    mesh::NodeId node;
    ~Serving() { probe.serving_.erase(node); }
  };
  const Serving serving{*this, from};
  const auto time = timers_.wall_now();
  const std::vector<mesh::NodeId> pins = {from};
  const auto stream = co_await network_.dial(ask.address, pins, mesh::Purpose::http);
  ProbeAnswer answer{ask.number, time, stream ? std::string() : stream.error().message};
  peers_.send(from, to_frame(answer));
}

}  // namespace corral::fleet
