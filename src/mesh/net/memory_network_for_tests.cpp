#include "mesh/net/memory_network_for_tests.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>

#include "async/event.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;
using Path = std::pair<PublicKey, PublicKey>;  // from, to

struct Node;

std::unexpected<Error> broken() { return fail(errc::link_closed, "the connection broke"); }

// One direction of a stream.
struct Pipe {
  enum class Kind { bytes, end, broken };
  struct Piece {
    Kind kind;
    MonoTime due;
    std::string bytes;
  };

  Pipe(async::Executor executor, Path between) : path(std::move(between)), readable(executor), writable(executor) {}

  Path path;
  std::deque<Piece> pieces;
  std::size_t in_flight = 0;
  bool reader_left = false;
  bool writer_left = false;
  async::Event readable;  // or another event for its reader
  async::Event writable;
};

}  // namespace

struct MemoryNetwork::Air {
  Air(async::Executor on, async::Timers& time, Options with) : executor(on), timers(time), options(with) {}

  bool is_cut(const Path& path) const { return cuts.contains(path); }
  MonoTime arrival(const Path& path) const {
    const auto found = delays.find(path);
    return timers.now() + (found == delays.end() ? Millis(0) : found->second);
  }
  void stir() {
    std::erase_if(pipes, [](const auto& pipe) { return pipe.expired(); });
    for (const auto& weak : pipes) {
      const auto pipe = weak.lock();
      if (!pipe) continue;
      pipe->readable.set();
      pipe->writable.set();
    }
  }
  std::shared_ptr<Pipe> make_pipe(const PublicKey& from, const PublicKey& to) {
    auto pipe = std::make_shared<Pipe>(executor, Path(from, to));
    pipes.push_back(pipe);
    return pipe;
  }

  async::Executor executor;
  async::Timers& timers;
  Options options;
  std::map<Address, Node*> nodes;
  std::set<Path> cuts;
  std::map<Path, Millis> delays;
  std::vector<std::weak_ptr<Pipe>> pipes;
  std::uint64_t connections = 0;
};

namespace {

using Air = MemoryNetwork::Air;

// Both ends of a stream, seen from one of them. Outlives the stream while an operation waits.
struct End {
  std::shared_ptr<Air> air;
  std::shared_ptr<Pipe> in, out;
  Peer peer;
  Purpose purpose;
  std::uint64_t connection;
  bool closed = false;

  void push(Pipe::Kind kind, std::string bytes) const {
    auto due = air->arrival(out->path);
    if (!out->pieces.empty()) due = std::max(due, out->pieces.back().due);
    out->in_flight += bytes.size();
    out->pieces.push_back({kind, due, std::move(bytes)});
    out->readable.set();
  }
  void close() {
    if (std::exchange(closed, true)) return;
    push(Pipe::Kind::broken, {});
    in->reader_left = true;
    in->readable.set();
    in->writable.set();
    out->writable.set();
  }
};

Task<bool> wait_readable(std::shared_ptr<Pipe> pipe) {
  co_await pipe->readable.wait();
  co_return true;
}

Task<Result<bool>> wait_for_bytes(std::shared_ptr<End> end) {
  auto& pipe = *end->in;
  while (!end->closed) {
    const bool something = !pipe.pieces.empty() && !end->air->is_cut(pipe.path);
    const auto now = end->air->timers.now();
    pipe.readable.reset();
    if (!something) {
      co_await pipe.readable.wait();
    } else if (pipe.pieces.front().due > now) {
      auto waiting = wait_readable(end->in);
      co_await async::with_timeout(end->air->timers, pipe.pieces.front().due - now, std::move(waiting));
    } else if (pipe.pieces.front().kind == Pipe::Kind::broken) {
      break;
    } else {
      co_return pipe.pieces.front().kind == Pipe::Kind::bytes;
    }
  }
  co_return broken();
}

Task<Result<std::size_t>> read_from(std::shared_ptr<End> end, std::span<char> space) {
  const auto there = co_await wait_for_bytes(end);
  if (!there) co_return std::unexpected(there.error());
  if (!*there) co_return 0;
  auto& pipe = *end->in;
  auto& piece = pipe.pieces.front();
  const auto count = std::min(space.size(), piece.bytes.size());
  std::memcpy(space.data(), piece.bytes.data(), count);
  piece.bytes.erase(0, count);
  pipe.in_flight -= count;
  if (piece.bytes.empty()) pipe.pieces.pop_front();
  pipe.writable.set();
  co_return count;
}

Task<Result<>> write_to(std::shared_ptr<End> end, std::string bytes) {
  auto& pipe = *end->out;
  while (!bytes.empty()) {
    // The news that the reader left comes over the other direction.
    const bool left = pipe.reader_left && !end->air->is_cut(end->in->path);
    if (end->closed || pipe.writer_left || left) co_return broken();
    const auto room = end->air->options.max_in_flight - std::min(end->air->options.max_in_flight, pipe.in_flight);
    if (room == 0) {
      pipe.writable.reset();
      co_await pipe.writable.wait();
      continue;
    }
    auto part = bytes.substr(0, room);
    bytes.erase(0, room);
    end->push(Pipe::Kind::bytes, std::move(part));
  }
  co_return Result<>();
}

class MemoryStream final : public Stream {
 public:
  explicit MemoryStream(std::shared_ptr<End> end) : end_(std::move(end)) {}
  ~MemoryStream() override { end_->close(); }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  const Peer& peer() const override { return end_->peer; }
  Purpose purpose() const override { return end_->purpose; }
  Task<Result<std::size_t>> read_some(std::span<char> space) override { return read_from(end_, space); }
  Task<Result<>> write(std::string_view bytes) override { return write_to(end_, std::string(bytes)); }
  Task<void> finish() override {
    if (!end_->closed && !std::exchange(end_->out->writer_left, true)) end_->push(Pipe::Kind::end, {});
    co_return;
  }
  void close() override { end_->close(); }
  Task<Result<bool>> readable() override { return wait_for_bytes(end_); }
  bool is_quiet() const override {
    const auto& pieces = end_->in->pieces;
    const bool arrived = !pieces.empty() && pieces.front().due <= end_->air->timers.now();
    return !end_->closed && (!arrived || end_->air->is_cut(end_->in->path));
  }
  Sha256 exporter(std::string_view label) const override {
    std::string body;
    ByteWriter(body).number<std::uint64_t>(end_->connection).raw(label);
    return tagged_hash("memory connection", body);
  }

 private:
  std::shared_ptr<End> end_;
};

// A node; its network may be destroyed while a task waits for a connection.
struct Node {
  Node(std::shared_ptr<Air> in, const PublicKey& with, Address at, PeerAuthorizer keeper)
      : air(std::move(in)), key(with), address(std::move(at)), authorizer(std::move(keeper)), arrivals(air->executor) {}

  std::unique_ptr<Stream> make(const Path& path, std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out, Purpose purpose,
                               std::uint64_t connection, bool dialled, const Address& shown) {
    Peer peer{path.second, node_id(path.second), to_text(shown), dialled};
    auto end = std::make_shared<End>(End{air, std::move(in), std::move(out), std::move(peer), purpose, connection});
    std::erase_if(ends, [](const auto& one) { return one.expired(); });
    ends.push_back(end);
    return std::make_unique<MemoryStream>(std::move(end));
  }

  std::shared_ptr<Air> air;
  PublicKey key;
  Address address;
  PeerAuthorizer authorizer;
  async::Channel<std::unique_ptr<Stream>> arrivals;
  std::vector<std::weak_ptr<End>> ends;
};

Task<Result<std::unique_ptr<Stream>>> dial_from(std::shared_ptr<Node> self, Address address, std::vector<NodeId> pins,
                                                Purpose purpose) {
  auto& air = *self->air;
  const auto found = air.nodes.find(address);
  if (found == air.nodes.end() || !found->second->authorizer) {
    co_return fail(errc::unreachable, fmt::format("no node answers at {}", to_text(address)));
  }
  const Path there(self->key, found->second->key), back(found->second->key, self->key);
  const auto limit = air.timers.now() + air.options.dial_limit;
  const auto arrival = std::max(air.arrival(there), air.arrival(back));
  co_await air.timers.sleep_until(std::min(arrival, limit));
  if (arrival >= limit || air.is_cut(there) || air.is_cut(back)) {
    co_await air.timers.sleep_until(limit);
    co_return fail(errc::unreachable, fmt::format("{} didn't answer", to_text(address)));
  }
  const auto again = air.nodes.find(address);  // it may have gone meanwhile
  if (again == air.nodes.end())
    co_return fail(errc::unreachable, fmt::format("no node answers at {}", to_text(address)));
  auto& other = *again->second;
  if (std::ranges::find(pins, node_id(other.key)) == pins.end()) {
    co_return fail(errc::wrong_peer, fmt::format("{} is node {}, not the expected one", to_text(address),
                                                 short_text(node_id(other.key))));
  }
  if (auto may = other.authorizer(self->key, purpose); !may) {
    if (may.error().code == errc::revoked) co_return fail(errc::revoked, "the peer says that this node was revoked");
    co_return fail(errc::not_a_member, "the peer doesn't know this node");
  }
  const auto to = air.make_pipe(self->key, other.key), from = air.make_pipe(other.key, self->key);
  const auto number = ++air.connections;
  auto theirs = other.make(back, to, from, purpose, number, false, self->address);
  other.arrivals.send(std::move(theirs));
  co_return self->make(there, from, to, purpose, number, true, address);
}

Task<Result<std::unique_ptr<Stream>>> accept_at(std::shared_ptr<Node> self) {
  auto arrived = co_await self->arrivals.receive();
  if (!arrived) co_return fail(errc::link_closed, "the node is gone");
  co_return std::move(*arrived);
}

class NodeNetwork final : public Network {
 public:
  explicit NodeNetwork(std::shared_ptr<Node> node) : node_(std::move(node)) {
    node_->air->nodes[node_->address] = node_.get();
  }
  ~NodeNetwork() override {
    auto& nodes = node_->air->nodes;
    const auto found = nodes.find(node_->address);
    if (found != nodes.end() && found->second == node_.get()) nodes.erase(found);
    for (const auto& weak : node_->ends) {
      if (const auto end = weak.lock()) end->close();
    }
    node_->arrivals.close();
  }
  NodeNetwork(const NodeNetwork&) = delete;
  NodeNetwork& operator=(const NodeNetwork&) = delete;

  Task<Result<std::unique_ptr<Stream>>> dial(Place place, std::vector<NodeId> pins, Purpose purpose) override {
    return dial_from(node_, std::move(place.address), std::move(pins), purpose);
  }
  Task<Result<std::unique_ptr<Stream>>> accept() override { return accept_at(node_); }

 private:
  std::shared_ptr<Node> node_;
};

}  // namespace

MemoryNetwork::MemoryNetwork(async::Executor executor, async::Timers& timers, Options options)
    : air_(std::make_shared<Air>(executor, timers, options)) {}
MemoryNetwork::~MemoryNetwork() = default;

std::unique_ptr<Network> MemoryNetwork::add(const PublicKey& key, Address address, PeerAuthorizer authorizer) {
  return std::make_unique<NodeNetwork>(std::make_shared<Node>(air_, key, std::move(address), std::move(authorizer)));
}

void MemoryNetwork::cut(const PublicKey& from, const PublicKey& to) { air_->cuts.insert({from, to}); }

void MemoryNetwork::heal(const PublicKey& from, const PublicKey& to) {
  air_->cuts.erase({from, to});
  air_->stir();
}

void MemoryNetwork::delay(const PublicKey& from, const PublicKey& to, Millis delay) {
  air_->delays[{from, to}] = delay;
}

}  // namespace corral::mesh
