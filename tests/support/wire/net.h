// Nodes, each a network namespace with one address of one network, and what lies between them: this program (TUN
// devices, with faults that change while it runs), or a bridge (as fast as the machine; faults by nft from outside).
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "command.h"
#include "namespaces.h"
#include "path.h"

namespace corral::wire {

class Net {
 public:
  enum class Medium { wire, bridge };
  explicit Net(Medium medium);

  // Carries packets, and does what is said on `commands` with one line of answer each, until that ends.
  void run(int commands, int answers);

 private:
  struct Node {
    std::string name;
    std::uint32_t address = 0;
    Descriptor space;
    Descriptor device;  // of a wire only
  };
  struct Packet {
    Nanos arrival = 0;
    std::uint64_t number = 0;
    std::size_t from = 0;
    std::size_t to = 0;
    std::vector<std::uint8_t> bytes;
    bool operator>(const Packet& other) const {
      return arrival != other.arrival ? arrival > other.arrival : number > other.number;
    }
  };

  std::string answer(const std::string& line);
  std::string add(const Command& command);
  std::string set(const Command& command);
  std::string clear(const Command& command);
  std::string stats(const Command& command);
  std::vector<std::size_t> named(const std::string& name) const;  // "*": all
  void lay_cable(Node& node, const std::string& address);
  void watch(int fd, std::uint64_t tag);

  void take_from(std::size_t node);
  void deliver();
  void put(const Packet& packet);
  void wake_for_next();
  Path& path(std::size_t from, std::size_t to) { return paths_[from][to]; }

  Medium medium_;
  Descriptor hub_;  // the bridge's namespace
  std::vector<Node> nodes_;
  std::vector<std::vector<Path>> paths_;
  std::priority_queue<Packet, std::vector<Packet>, std::greater<>> under_way_;
  std::uint64_t packets_ = 0;
  std::mt19937_64 random_{1};
  Descriptor poll_;
  Descriptor timer_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace corral::wire
