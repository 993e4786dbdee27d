// A stream from Peers::open() or a handler: it is counted, and Peers closes it when the link of the pair ends. Belongs
// to one loop.
#pragma once

#include <memory>
#include <optional>

#include "mesh/net/stream.h"
#include "mesh/peers/streams/signal.h"

namespace corral::mesh {

// The limit of streams in use.
struct Slots {
  Slots(async::Executor executor, std::size_t max_streams) : limit(max_streams), freed(executor) {}
  bool full() const { return used >= limit; }

  const std::size_t limit;
  std::size_t used = 0;
  Signal freed;
};

// Holds one of the slots during its lifetime.
class Slot {
 public:
  explicit Slot(std::shared_ptr<Slots> slots) : slots_(std::move(slots)) { ++slots_->used; }
  ~Slot() {
    --slots_->used;
    slots_->freed.raise();
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

 private:
  std::shared_ptr<Slots> slots_;
};

struct ByteCounters {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

// The stream itself, in use or waiting for its use.
struct StreamBody {
  std::unique_ptr<Stream> inner;
  Purpose purpose{};
  std::shared_ptr<ByteCounters> bytes;
  std::shared_ptr<Slot> slot;  // while it is in use
};
using BodyPtr = std::shared_ptr<StreamBody>;

class TrackedStream final : public Stream {
 public:
  explicit TrackedStream(BodyPtr body) : body_(std::move(body)) {}
  ~TrackedStream() override;
  TrackedStream(const TrackedStream&) = delete;
  TrackedStream& operator=(const TrackedStream&) = delete;

  const Peer& peer() const override { return body_->inner->peer(); }
  Purpose purpose() const override { return body_->purpose; }
  async::Task<Result<std::size_t>> read_some(std::span<char> space) override { return read_from(body_, space); }
  async::Task<Result<>> write(std::string_view bytes) override;
  async::Task<void> finish() override { return body_->inner->finish(); }
  void close() override { body_->inner->close(); }
  async::Task<Result<bool>> readable() override { return body_->inner->readable(); }
  bool is_quiet() const override { return body_->inner->is_quiet(); }
  Sha256 exporter(std::string_view label) const override { return body_->inner->exporter(label); }

 private:
  static async::Task<Result<std::size_t>> read_from(BodyPtr body, std::span<char> space);

  const BodyPtr body_;
};

}  // namespace corral::mesh
