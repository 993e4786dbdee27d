// Links as queues: up when both processes run and the path is whole, down two seconds after a cut.
#include <algorithm>
#include <map>
#include <set>

#include "async/loop.h"
#include "mesh/gossip/fake_peers_for_tests.h"
#include "simulation/mesh/ground.h"

namespace corral::mesh::simulation {
namespace {

using Path = std::pair<unsigned, unsigned>;

class Queues final : public Ground {
 public:
  explicit Queues(unsigned nodes) : processes_(nodes) {}

  async::ManualTimers& time() override { return timers_; }
  async::Executor executor() override { return loop_.executor(); }

  Peers& begin(unsigned node, const SigningKey& key, const Boot& boot) override {
    auto& process = processes_[node];
    process.peers = std::make_unique<FakePeers>(air_, key.public_key(), boot);
    members_.insert(key.public_key());
    process.paused = false;
    process.going = false;
    notify_members();
    return *process.peers;
  }
  void go(unsigned node) override { processes_[node].going = true; }
  void end(unsigned node) override {
    for (unsigned other = 0; other < processes_.size(); ++other) drop(node, other);
    processes_[node].peers.reset();
  }
  void set_path(unsigned from, unsigned to, bool whole) override {
    if (whole)
      cut_.erase({from, to});
    else
      cut_.emplace(Path(from, to), timers_.now());
  }
  void set_delay(unsigned from, unsigned to, Millis delay) override { delays_[{from, to}] = delay; }
  void set_paused(unsigned node, bool paused) override {
    if (processes_[node].paused == paused) return;
    processes_[node].paused = paused;
    processes_[node].since = timers_.now();
  }
  void replace_link(unsigned a, unsigned b) override {
    if (!is_up(a, b)) return;
    forget_frames(a, b);
    air_.up(*processes_[a].peers, *processes_[b].peers);
  }
  bool revoke(unsigned node, unsigned) override {
    if (!processes_[node].peers) return true;
    const auto key = processes_[node].peers->key();
    members_.erase(key);
    for (unsigned other = 0; other < processes_.size(); ++other) drop(node, other);
    notify_members();
    return true;
  }
  MembershipStatus standing(unsigned, const PublicKey& key) const override {
    return members_.contains(key) ? MembershipStatus::member : MembershipStatus::revoked;
  }
  void pass(Millis time) override {
    timers_.advance(time);
    for (auto& process : processes_)
      if (process.peers) process.peers->since = timers_.now();
    for (unsigned a = 0; a < processes_.size(); ++a) {
      for (unsigned b = a + 1; b < processes_.size(); ++b) look_at(a, b);
    }
    while (deliver()) {
    }
  }

 private:
  struct Process {
    std::unique_ptr<FakePeers> peers;
    bool going = false;
    bool paused = false;
    MonoTime since{};
  };
  struct Due {
    MonoTime time;
    Frame frame;
  };

  bool is_up(unsigned a, unsigned b) const {
    const auto& one = processes_[a].peers;
    const auto& other = processes_[b].peers;
    return one && other && one->is_up(other->own());
  }
  void look_at(unsigned a, unsigned b) {
    const auto now = timers_.now();
    bool whole = true, old = false;
    const auto broken_since = [&](MonoTime since) {
      whole = false;
      old = old || now - since >= Millis(2000);
    };
    for (const auto& path : {Path(a, b), Path(b, a)}) {
      if (const auto found = cut_.find(path); found != cut_.end()) broken_since(found->second);
    }
    for (const auto* process : {&processes_[a], &processes_[b]}) {
      if (process->paused) broken_since(process->since);
    }
    if (is_up(a, b)) {
      if (old) drop(a, b);
      return;
    }
    const auto may = [&](const Process& process) {
      return process.peers && process.going && members_.contains(process.peers->key());
    };
    if (whole && may(processes_[a]) && may(processes_[b])) air_.up(*processes_[a].peers, *processes_[b].peers);
  }
  void forget_frames(unsigned a, unsigned b) {
    queues_.erase({a, b});
    queues_.erase({b, a});
  }
  void drop(unsigned a, unsigned b) {
    collect();
    forget_frames(a, b);
    if (a != b && is_up(a, b)) air_.down(*processes_[a].peers, *processes_[b].peers);
  }
  unsigned number_of(const FakePeers* peers) const {
    const auto found = std::ranges::find(processes_, peers, [](const auto& process) { return process.peers.get(); });
    return static_cast<unsigned>(found - processes_.begin());
  }
  void collect() {
    for (auto& message : air_.under_way) {
      const Path path(number_of(message.from), number_of(message.to));
      auto& queue = queues_[path];
      auto time = timers_.now() + delays_[path];
      if (!queue.empty()) time = std::max(time, queue.back().time);
      queue.push_back({time, std::move(message.frame)});
    }
    air_.under_way.clear();
  }
  bool deliver() {
    collect();
    bool any = false;
    for (auto& [path, queue] : queues_) {
      const auto& [from, to] = path;
      const bool stopped = cut_.contains(path) || processes_[from].paused || processes_[to].paused;
      if (queue.empty() || stopped || queue.front().time > timers_.now()) continue;
      const auto frame = std::move(queue.front().frame);
      queue.pop_front();
      auto& target = *processes_[to].peers;
      target.events()->frame(processes_[from].peers->own(), frame);
      any = true;
    }
    return any;
  }
  void notify_members() {
    for (auto& process : processes_) {
      if (!process.peers) continue;
      process.peers->members.assign(members_.begin(), members_.end());
      if (process.peers->events()) process.peers->events()->members_changed();
    }
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  FakeAir air_;
  std::vector<Process> processes_;
  std::set<PublicKey> members_;
  std::map<Path, MonoTime> cut_;
  std::map<Path, Millis> delays_;
  std::map<Path, std::deque<Due>> queues_;
};

}  // namespace

std::unique_ptr<Ground> make_queues(unsigned nodes) { return std::make_unique<Queues>(nodes); }

}  // namespace corral::mesh::simulation
