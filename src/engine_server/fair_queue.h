// Who is made ready next, and who may wait: clients take turns, however much each of them asks. Pure, no thread of its
// own.
//
// Each lane is a queue by itself. In it the clients that wait take turns, one job at a time; of one client's jobs the
// one with the smallest rank comes first. A client is what its requests say (protocol/client_tag.h); those that say
// nothing are one client.
//
// All lanes together hold at most so many jobs and bytes, those that run included. A client gets no more of either than
// is still free: one alone half of all, each of two a third; so one that comes new finds room.
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
    bool share = false;  // the client has its share; else there is no room for anybody
    Numbers held;        // by the client, or by all
  };

  explicit FairQueue(Limits limits) : limits_(limits) {}

  // The first job of all is always taken, however large.
  std::expected<Ticket, Full> enter(Lane lane, const std::string& client, std::uint64_t bytes);
  // Whose turn it is; it runs from now on.
  std::optional<Ticket> next(Lane lane);
  // It has run, or needn't any more. False: it had left already.
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
  std::deque<std::string> turns_[2];       // clients that wait in a lane; whose turn it is first, first
};

}  // namespace corral::engine_server
