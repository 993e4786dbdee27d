#include "mesh/link/stream_link.h"

#include <array>
#include <deque>

#include <fmt/format.h>

#include "async/event.h"
#include "async/task_group.h"
#include "mesh/identity/errors.h"
#include "mesh/link/frame_stream.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr std::size_t kReadBytes = 16 * 1024;

std::unexpected<Error> closed_error(const Closing& closing) {
  auto text = fmt::format("{}{}", closing.by_peer ? "the peer closed the link: " : "", name_of(closing.reason));
  if (!closing.text.empty()) text += fmt::format(" ({})", closing.text);
  switch (closing.reason) {
    case CloseReason::revoked:
      return fail(errc::revoked, std::move(text));
    case CloseReason::foreign_mesh:
      return fail(errc::foreign_mesh, std::move(text));
    default:
      return fail(errc::link_closed, std::move(text));
  }
}

CloseReason reason_of(const Error& error) {
  if (error.code == errc::foreign_mesh) return CloseReason::foreign_mesh;
  return error.code == errc::link_closed ? CloseReason::lost : CloseReason::malformed;
}

struct State {
  State(std::unique_ptr<Stream> over, LinkOptions with, async::Timers& time, async::Executor executor)
      : stream(std::move(over)),
        options(std::move(with)),
        timers(time),
        detector(options.detector, time.now()),
        received(options.received),
        arrived(executor),
        to_write(executor),
        room(executor),
        ended(executor),
        reader_gone(executor),
        writer_gone(executor),
        done(executor),
        tasks(executor) {}

  void start(const std::shared_ptr<State>& self) {
    tasks.spawn("mesh link: read", read(self));
    tasks.spawn("mesh link: write", write(self));
    tasks.spawn("mesh link: beat", beat(self));
    tasks.spawn("mesh link: end", send_reason(self));
  }

  void end(Closing why) {
    if (closing) return;
    closing = std::move(why);
    for (auto* event : {&arrived, &to_write, &room, &ended}) event->set();
  }
  bool has_room(const Frame& frame) const {
    return outbox_bytes + kFrameHead + frame.payload.size() <= options.max_to_send;
  }
  void break_off() {
    end({CloseReason::lost, false, {}});
    stream->close();
  }

  // Before an end that is no fault, queued frames are still sent within the limit of the farewell.
  bool writes_on() const {
    if (!closing) return true;
    const auto reason = closing->reason;
    const bool no_fault =
        reason == CloseReason::stopping || reason == CloseReason::superseded || reason == CloseReason::revoked;
    return no_fault && !closing->by_peer && !outbox.empty();
  }

  Result<> take(Frame frame);
  Result<> take_bytes(std::string_view bytes);

  static Task<void> read(std::shared_ptr<State> self);
  static Task<void> write(std::shared_ptr<State> self);
  static Task<void> beat(std::shared_ptr<State> self);
  static Task<void> send_reason(std::shared_ptr<State> self);
  static Task<bool> farewell(std::shared_ptr<State> self);
  static Task<bool> wait_ended(std::shared_ptr<State> self) {
    co_await self->ended.wait();
    co_return true;
  }

  const std::unique_ptr<Stream> stream;
  const LinkOptions options;
  async::Timers& timers;
  Hello hello;  // the peer's
  FrameReader reader;
  LinkFailureDetector detector;
  TokenBucket received;  // bytes
  std::vector<InFlightId> peer_holds;
  MonoTime last_heartbeat{};

  std::deque<Frame> inbox;
  std::size_t inbox_bytes = 0;
  async::Event arrived;  // something is in the inbox, or the end
  std::deque<std::string> outbox;
  std::size_t outbox_bytes = 0;
  bool beat_due = false;
  async::Event to_write;
  async::Event room;  // the outbox has space

  std::optional<Closing> closing;
  async::Event ended;  // `closing` is set
  async::Event reader_gone;
  async::Event writer_gone;
  async::Event done;
  async::TaskGroup tasks;
};

Result<> State::take(Frame frame) {
  switch (frame.kind) {
    case FrameKind::hello:
      return fail(errc::malformed, "the peer sent a second hello");
    case FrameKind::heartbeat: {
      auto beat = decode_heartbeat(frame.payload);
      if (!beat) return std::unexpected(beat.error());
      detector.take(*beat, timers.now());
      last_heartbeat = timers.now();
      peer_holds = std::move(beat->held);
      return {};
    }
    case FrameKind::close:
      end(decode_closing(frame.payload));
      return {};
    default:
      break;
  }
  inbox_bytes += frame.payload.size();
  if (inbox.size() >= options.max_queued_frames || inbox_bytes > options.max_queued_bytes) {
    return fail(errc::overloaded, "too many frames wait to be taken");
  }
  inbox.push_back(std::move(frame));
  arrived.set();
  return {};
}

Result<> State::take_bytes(std::string_view bytes) {
  detector.received(timers.now());
  // All bytes, including skipped frames.
  if (!received.take(timers.now(), static_cast<double>(bytes.size()))) {
    return fail(errc::overloaded, "the peer sends too many bytes a second");
  }
  if (auto put = reader.put(bytes); !put) return put;
  while (reader.has_frame() && !closing) {
    if (auto taken = take(reader.take()); !taken) return taken;
  }
  return {};
}

// Continues after the end, but discards the bytes: closing a socket with unread bytes may discard the last sent bytes.
Task<void> State::read(std::shared_ptr<State> self) {
  std::array<char, kReadBytes> space;
  while (true) {
    const auto got = co_await self->stream->read_some(space);
    if (!got || *got == 0) break;
    if (self->closing) continue;
    const auto taken = self->take_bytes({space.data(), *got});
    if (taken) continue;
    const bool overrun = taken.error().code == errc::overloaded;
    self->end({overrun ? CloseReason::overrun : CloseReason::malformed, false, taken.error().message});
  }
  self->end({CloseReason::lost, false, {}});
  self->reader_gone.set();
}

Task<void> State::write(std::shared_ptr<State> self) {
  while (self->writes_on()) {
    if (!self->beat_due && self->outbox.empty()) {
      self->to_write.reset();
      co_await self->to_write.wait();
      continue;
    }
    std::string bytes;
    if (std::exchange(self->beat_due, false)) {
      const auto held = self->options.held ? self->options.held() : std::vector<InFlightId>();
      bytes = encode(Frame{FrameKind::heartbeat, encode(self->detector.beat(self->timers.now(), held))});
    } else {
      bytes = std::move(self->outbox.front());
      self->outbox.pop_front();
      self->outbox_bytes -= bytes.size();
      self->room.set();
    }
    const auto written = co_await self->stream->write(bytes);
    if (written) continue;
    self->end({CloseReason::lost, false, written.error().message});
    self->outbox.clear();
  }
  self->writer_gone.set();
}

Task<void> State::beat(std::shared_ptr<State> self) {
  while (!self->closing) {
    const auto now = self->timers.now();
    self->detector.tick(now);
    const auto state = self->detector.state(now);
    if (state != LinkFailureDetector::State::alive) {
      self->end({state == LinkFailureDetector::State::silent ? CloseReason::silent : CloseReason::deaf, false, {}});
      break;
    }
    self->beat_due = true;
    self->to_write.set();
    auto waiting = wait_ended(self);
    co_await async::with_timeout(self->timers, self->options.detector.interval, std::move(waiting));
  }
}

Task<void> State::send_reason(std::shared_ptr<State> self) {
  co_await self->ended.wait();
  if (!self->closing->by_peer && self->closing->reason != CloseReason::lost) {
    auto sending = farewell(self);
    co_await async::with_timeout(self->timers, self->options.farewell, std::move(sending));
  }
  self->stream->close();
  co_await self->reader_gone.wait();
  co_await self->writer_gone.wait();
  self->done.set();
}

// Waits until the peer has read the reason and closed its end.
Task<bool> State::farewell(std::shared_ptr<State> self) {
  co_await self->writer_gone.wait();
  const auto bytes = encode(Frame{FrameKind::close, encode(self->closing->reason, self->closing->text)});
  const auto written = co_await self->stream->write(bytes);
  if (!written) co_return false;
  co_await self->stream->finish();
  co_await self->reader_gone.wait();
  co_return true;
}

class StreamLink final : public Link {
 public:
  explicit StreamLink(std::shared_ptr<State> state) : state_(std::move(state)) { state_->start(state_); }
  ~StreamLink() override { state_->break_off(); }
  StreamLink(const StreamLink&) = delete;
  StreamLink& operator=(const StreamLink&) = delete;

  const Peer& peer() const override { return state_->stream->peer(); }
  const Hello& hello() const override { return state_->hello; }
  Task<Result<>> send(Frame frame) override { return send_over(state_, std::move(frame)); }
  Result<> offer(Frame frame) override { return offer_over(*state_, frame); }
  Task<Result<Frame>> receive() override { return receive_over(state_); }
  void close(CloseReason reason, std::string text) override { state_->end({reason, false, std::move(text)}); }
  Task<void> finished() override { return wait_done(state_); }
  const std::optional<Closing>& closing() const override { return state_->closing; }
  const std::vector<InFlightId>& peer_holds() const override { return state_->peer_holds; }
  MonoTime last_heartbeat() const override { return state_->last_heartbeat; }
  std::optional<Millis> round_trip() const override { return state_->detector.round_trip(); }

 private:
  static Result<> offer_over(State& state, const Frame& frame) {
    if (frame.payload.size() > max_bytes(frame.kind)) {
      return fail(errc::too_large,
                  fmt::format("a frame has {} bytes (max {})", frame.payload.size(), max_bytes(frame.kind)));
    }
    if (state.closing) return closed_error(*state.closing);
    if (!state.has_room(frame)) return fail(errc::overloaded, "the peer reads frames too slowly");
    auto bytes = encode(frame);
    state.outbox_bytes += bytes.size();
    state.outbox.push_back(std::move(bytes));
    state.to_write.set();
    return {};
  }
  static Task<Result<>> send_over(std::shared_ptr<State> state, Frame frame) {
    while (!state->closing && !state->has_room(frame)) {
      state->room.reset();
      co_await state->room.wait();
    }
    co_return offer_over(*state, frame);
  }
  static Task<Result<Frame>> receive_over(std::shared_ptr<State> state) {
    while (state->inbox.empty()) {
      if (state->closing) co_return closed_error(*state->closing);
      state->arrived.reset();
      co_await state->arrived.wait();
    }
    auto frame = std::move(state->inbox.front());
    state->inbox.pop_front();
    state->inbox_bytes -= frame.payload.size();
    co_return frame;
  }
  static Task<void> wait_done(std::shared_ptr<State> state) { co_await state->done.wait(); }

  std::shared_ptr<State> state_;
};

Result<> check(const Hello& theirs, const Hello& ours, const Peer& peer) {
  if (theirs.mesh != ours.mesh) {
    return fail(errc::foreign_mesh, fmt::format("{} is of mesh {}, this node of mesh {}", short_text(peer.id),
                                                short_text(theirs.mesh), short_text(ours.mesh)));
  }
  if (theirs.claim.author != peer.key || !is_genuine(theirs.claim)) {
    return fail(errc::forged, fmt::format("{} signed its epoch with another key", short_text(peer.id)));
  }
  return {};
}

Task<Result<Hello>> exchange_hellos(Stream& stream, FrameReader& reader, const Hello& ours) {
  const auto bytes = encode(Frame{FrameKind::hello, encode(ours)});
  if (auto written = co_await stream.write(bytes); !written) co_return std::unexpected(written.error());
  const auto first = co_await read_frame(stream, reader);
  if (!first) co_return std::unexpected(first.error());
  if (first->kind == FrameKind::close) co_return closed_error(decode_closing(first->payload));
  if (first->kind != FrameKind::hello) co_return fail(errc::malformed, "the peer's first frame is not a hello");
  auto theirs = decode_hello(first->payload);
  if (!theirs) co_return theirs;
  if (auto fits = check(*theirs, ours, stream.peer()); !fits) co_return std::unexpected(fits.error());
  // Use the peer's claim of our epoch only if we signed it.
  if (theirs->known_claim && (theirs->known_claim->author != ours.claim.author || !is_genuine(*theirs->known_claim)))
    theirs->known_claim.reset();
  co_return theirs;
}

Task<bool> refuse(Stream& stream, const Error& error) {
  Frame why{FrameKind::close, encode(reason_of(error), error.message)};
  if (!co_await write_frame(stream, std::move(why))) co_return false;
  co_return co_await finish_politely(stream);
}

}  // namespace

Task<Result<std::unique_ptr<Link>>> open_link(std::unique_ptr<Stream> stream, LinkOptions options,
                                              async::Timers& timers) {
  FrameReader reader;
  auto exchange = exchange_hellos(*stream, reader, options.hello);
  auto theirs = co_await async::with_timeout(timers, options.handshake, std::move(exchange));
  if (!theirs) {
    co_return fail(errc::timed_out,
                   fmt::format("{} sent no hello within {} ms", stream->peer().address, options.handshake.count()));
  }
  if (!*theirs) {
    auto error = theirs->error();
    if (error.code != errc::link_closed && error.code != errc::revoked) {
      auto refusing = refuse(*stream, error);
      co_await async::with_timeout(timers, options.farewell, std::move(refusing));
    }
    co_return std::unexpected(std::move(error));
  }
  const auto executor = co_await async::asio::this_coro::executor;
  auto state = std::make_shared<State>(std::move(stream), std::move(options), timers, executor);
  state->hello = std::move(**theirs);
  state->reader = std::move(reader);
  if (auto taken = state->take_bytes({}); !taken) {
    state->end({CloseReason::malformed, false, taken.error().message});
  }
  std::unique_ptr<Link> link = std::make_unique<StreamLink>(std::move(state));
  co_return link;
}

}  // namespace corral::mesh
