// Queue of requests to prepare: clients take turns, however many requests each has. Pure, no thread of its own.
//
// Each lane is a separate queue. Its waiting clients take turns, one job at a time; of one client's jobs the one with
// the smallest rank is first. Requests without a client tag (protocol/client_tag.h) count as one client.
//
// All lanes together hold a limited number of jobs and bytes, running ones included. A client may hold at most as many
// of either as stay free: one alone half of all, each of two a third, so that a new client finds space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace corral::engine_server {

enum class Lane { quick, heavy };

class FairQueue {
 public:
  using Ticket = std::uint64_t;
  struct Limits {
    std::size_t jobs = 1024;
    std::uint64_t bytes = 256ull << 20;
  };
  struct Numbers {
    std::size_t jobs = 0;  // waiting or running
    std::uint64_t bytes = 0;
  };
  struct Full {
    bool share = false;  // true: the client has reached its quota; false: the queue is full
    Numbers held;        // by the client, or by all
  };

  explicit FairQueue(Limits limits) : limits_(limits) {}

  // An empty queue accepts any job, however large.
  std::expected<Ticket, Full> enter(Lane lane, const std::string& client, std::uint64_t bytes);
  // The next job by turn; it runs from now on.
  std::optional<Ticket> next(Lane lane);
  // The job has ended or is no longer needed. False: it was removed before.
  bool leave(Ticket ticket);

  const Numbers& numbers() const { return all_; }
  bool waits(Lane lane) const { return !turns_[index(lane)].empty(); }

 private:
  using Waiting = std::set<std::pair<std::uint64_t, Ticket>>;  // by rank
  struct Client {
    Numbers held;
    Waiting waiting[2];  // in each lane
  };
  struct Job {
    std::string client;
    Lane lane;
    std::uint64_t bytes;
    std::uint64_t rank;
  };
  static std::size_t index(Lane lane) { return lane == Lane::quick ? 0 : 1; }
  std::optional<Full> refusal(const Numbers& held, std::uint64_t bytes) const;

  const Limits limits_;
  Numbers all_;
  std::uint64_t entered_ = 0;
  std::unordered_map<Ticket, Job> jobs_;
  std::map<std::string, Client> clients_;  // that have jobs
  std::deque<std::string> turns_[2];       // waiting clients of a lane, by turn
};

}  // namespace corral::engine_server
