// Runs a job: all its connections on one thread, over epoll.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "event_reader.h"
#include "job.h"

namespace corral::bench {

class Runner {
 public:
  explicit Runner(const Job& job);

  // Returns when the job is over or its time is up. Once.
  std::vector<Outcome> run();
  const RunCost& cost() const { return cost_; }

 private:
  struct Stream {
    const Request& request;
    UniqueFd socket = {};
    std::string unsent = {};
    EventReader answer = {};
    Outcome outcome = {};
  };

  double now() const;
  bool next_is_due() const;
  void start_due();
  void start(Stream& stream);
  void send_more(Stream& stream);
  void receive(Stream& stream);
  void watch(Stream& stream, int operation);
  void end(Stream& stream, std::string error);
  int patience() const;

  const Job& job_;
  UniqueFd epoll_;
  std::vector<Stream> streams_;
  std::vector<char> buffer_;
  MonoClock::time_point begin_;
  std::size_t next_ = 0;  // of streams_: the first that hasn't started
  std::size_t under_way_ = 0;
  std::size_t awaited_ = 0;  // streams that the end of the run waits for
  RunCost cost_;
};

}  // namespace corral::bench
