// The streams between this node and one peer: how many are in use, those that wait for their use, and all of them for
// when the link ends. Belongs to the mesh's loop.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "base/counted.h"
#include "mesh/peers/tracked_stream.h"

namespace corral::mesh {

inline constexpr std::size_t kMaxHttp = 32;  // streams in use, each way of each pair
inline constexpr std::size_t kMaxCopies = 4;
inline constexpr std::size_t kMaxRpc = 40;  // the connections of an engine, and some that wait for one
// Streams that the peer opened and hasn't used: all at once, and spares.
inline constexpr std::size_t kMaxParked = 48;

class PeerStreams {
 public:
  explicit PeerStreams(async::Executor executor);

  // Those in use, that we opened or that the peer opened; nullptr for purposes that have none.
  std::shared_ptr<Slots> to(Purpose purpose) const;
  std::shared_ptr<Slots> from(Purpose purpose) const;
  std::size_t in_use_to() const;
  std::size_t in_use_from() const;
  const ByteCounters& bytes() const { return *bytes_; }

  // Counts its bytes and closes it when the link ends, for as long as the body lives.
  BodyPtr track(std::unique_ptr<Stream> stream, Purpose purpose);
  void close_all();

  // Streams for http that we opened and that wait for a request. nullptr: there is none that can be used.
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
