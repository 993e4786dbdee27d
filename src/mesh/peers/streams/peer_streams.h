// The streams between this node and one peer: counts streams in use, keeps spares that wait for their use, and closes
// all when the link ends. Belongs to the mesh's loop.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "base/counted.h"
#include "mesh/peers/streams/tracked_stream.h"

namespace corral::mesh {

inline constexpr std::size_t kMaxHttp = 32;  // streams in use, each way of each pair
inline constexpr std::size_t kMaxCopies = 4;
inline constexpr std::size_t kMaxRpc = 40;  // the connections of an engine, and some spares
// Streams that the peer opened and hasn't used yet: the most in use at once, and spares.
inline constexpr std::size_t kMaxParked = 48;

class PeerStreams {
 public:
  explicit PeerStreams(async::Executor executor);

  // Slots for streams that we opened (to) and that the peer opened (from); nullptr for purposes without slots.
  std::shared_ptr<Slots> to(Purpose purpose) const;
  std::shared_ptr<Slots> from(Purpose purpose) const;
  std::size_t in_use_to() const;
  std::size_t in_use_from() const;
  const ByteCounters& bytes() const { return *bytes_; }

  // Counts its bytes and closes it when the link ends, for as long as the body lives.
  BodyPtr track(std::unique_ptr<Stream> stream, Purpose purpose);
  void close_all();

  // A stream for http that we opened and that waits for a request. nullptr: there is no usable one.
  BodyPtr take_spare();
  void add_spare(std::unique_ptr<Stream> stream);
  void drop_ended_spares();
  std::size_t spares() const { return spares_.size(); }

  bool may_park() const { return parked_ < kMaxParked; }
  Counted count_parked() { return Counted(parked_); }

 private:
  const std::shared_ptr<ByteCounters> bytes_ = std::make_shared<ByteCounters>();
  std::map<Purpose, std::shared_ptr<Slots>> to_, from_;
  std::deque<BodyPtr> spares_;
  std::vector<std::weak_ptr<StreamBody>> all_;
  std::size_t parked_ = 0;
};

}  // namespace corral::mesh
