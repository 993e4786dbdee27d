#include "net.h"

#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "packet.h"

namespace corral::wire {
namespace {

constexpr std::uint64_t kCommands = ~0ULL;
constexpr std::uint64_t kTimer = ~1ULL;
constexpr int kBurst = 64;  // packets of one node, before the others' turn
constexpr std::size_t kLargestPacket = 65536;

Nanos now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

std::uint32_t address_of(const std::string& text) {
  in_addr address{};
  if (::inet_pton(AF_INET, text.substr(0, text.find('/')).c_str(), &address) != 1) {
    throw std::runtime_error(fmt::format("'{}' is no address of IPv4", text));
  }
  return ntohl(address.s_addr);
}

const std::string& word(const Command& command, std::size_t place) {
  if (place >= command.words.size()) throw std::runtime_error(fmt::format("{}: too few words", command.name));
  return command.words[place];
}

std::string place_of(const Descriptor& space) { return fmt::format("/proc/{}/fd/{}", ::getpid(), space.get()); }

}  // namespace

Net::Net(Medium medium)
    : medium_(medium),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      buffer_(kLargestPacket) {
  if (medium_ == Medium::wire) return;
  hub_ = make_namespace();
  const Inside hub(hub_.get());
  run_ip({"link set lo up", "link add bridge type bridge", "link set bridge up"});
}

void Net::watch(int fd, std::uint64_t tag) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = tag}};
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

void Net::run(int commands, int answers) {
  watch(commands, kCommands);
  watch(timer_.get(), kTimer);
  std::string lines;
  for (;;) {
    epoll_event events[32];
    const int ready = ::epoll_wait(poll_.get(), events, std::size(events), -1);
    deliver();
    for (int i = 0; i < ready; ++i) {
      const std::uint64_t tag = events[i].data.u64;
      if (tag == kTimer) {
        std::uint64_t times = 0;
        (void)!::read(timer_.get(), &times, sizeof(times));
      } else if (tag != kCommands) {
        take_from(tag);
      } else {
        char text[4096];
        const ssize_t got = ::read(commands, text, sizeof(text));
        if (got <= 0) return;
        lines.append(text, static_cast<std::size_t>(got));
        for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n')) {
          const std::string reply = answer(lines.substr(0, end)) + "\n";
          lines.erase(0, end + 1);
          if (::write(answers, reply.data(), reply.size()) < 0) return;
        }
      }
    }
    deliver();
    wake_for_next();
  }
}

std::string Net::answer(const std::string& line) {
  try {
    const Command command = read_command(line);
    if (command.name == "node") return "ok " + add(command);
    if (command.name == "path") return "ok " + set(command);
    if (command.name == "clear") return "ok " + clear(command);
    if (command.name == "stats") return "ok " + stats(command);
    if (command.name == "seed") {
      random_.seed(std::stoull(word(command, 0)));
      return "ok";
    }
    return fmt::format("error there is no command '{}'", command.name);
  } catch (const std::exception& error) {
    return fmt::format("error {}", error.what());
  }
}

std::string Net::add(const Command& command) {
  Node node{.name = word(command, 0), .address = address_of(word(command, 1)), .space = {}, .device = {}};
  for (const Node& other : nodes_) {
    if (other.name == node.name || other.address == node.address)
      throw std::runtime_error(node.name + " is there already");
  }
  node.space = make_namespace();
  lay_cable(node, word(command, 1));
  if (medium_ == Medium::wire) watch(node.device.get(), nodes_.size());
  const std::string place = place_of(node.space);
  nodes_.push_back(std::move(node));
  for (auto& row : paths_) row.resize(nodes_.size());
  paths_.emplace_back(nodes_.size());
  return place;
}

void Net::lay_cable(Node& node, const std::string& address) {
  const std::string peer = place_of(node.space);
  if (medium_ == Medium::bridge) {
    const std::string port = fmt::format("port{}", nodes_.size());
    const Inside hub(hub_.get());
    run_ip({fmt::format("link add {} type veth peer name eth0 netns {}", port, peer),
            fmt::format("link set {} master bridge up", port)});
  }
  const Inside inside(node.space.get());
  if (medium_ == Medium::wire) node.device = make_tun("eth0");
  run_ip({"link set lo up", fmt::format("addr add {} dev eth0", address), "link set eth0 up txqueuelen 10000"});
}

std::vector<std::size_t> Net::named(const std::string& name) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (name == "*" || nodes_[i].name == name) found.push_back(i);
  }
  if (found.empty()) throw std::runtime_error(fmt::format("there is no node '{}'", name));
  return found;
}

std::string Net::set(const Command& command) {
  if (medium_ != Medium::wire) throw std::runtime_error("only a wire has faults of its own");
  for (const std::size_t from : named(word(command, 0))) {
    for (const std::size_t to : named(word(command, 1))) {
      const auto faults = changed(path(from, to).faults, command.options);
      if (!faults) throw std::runtime_error(faults.error());
      path(from, to).faults = *faults;
    }
  }
  return "";
}

std::string Net::clear(const Command& command) {
  for (const std::size_t from : named(word(command, 0))) {
    for (const std::size_t to : named(word(command, 1))) path(from, to).faults = {};
  }
  return "";
}

std::string Net::stats(const Command& command) {
  return text_of(path(named(word(command, 0)).front(), named(word(command, 1)).front()).counts);
}

void Net::take_from(std::size_t from) {
  for (int i = 0; i < kBurst; ++i) {
    const ssize_t size = ::read(nodes_[from].device.get(), buffer_.data(), buffer_.size());
    if (size <= 0) return;
    const std::span<const std::uint8_t> bytes(buffer_.data(), static_cast<std::size_t>(size));
    const auto head = read_head(bytes);
    if (!head) continue;
    for (std::size_t to = 0; to < nodes_.size(); ++to) {
      if (nodes_[to].address != head->to) continue;
      const auto arrival = path(from, to).send(now(), bytes.size(), head->begins_connection, random_);
      if (!arrival) continue;
      under_way_.push({*arrival, packets_++, from, to, {bytes.begin(), bytes.end()}});
    }
  }
}

void Net::deliver() {
  while (!under_way_.empty() && under_way_.top().arrival <= now()) {
    put(under_way_.top());
    under_way_.pop();
  }
}

void Net::put(const Packet& packet) {
  if (!path(packet.from, packet.to).arrive()) return;
  (void)!::write(nodes_[packet.to].device.get(), packet.bytes.data(), packet.bytes.size());
}

void Net::wake_for_next() {
  itimerspec when{};
  if (!under_way_.empty()) {
    const Nanos arrival = under_way_.top().arrival;
    when.it_value = {.tv_sec = arrival / 1'000'000'000, .tv_nsec = arrival % 1'000'000'000};
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace corral::wire
