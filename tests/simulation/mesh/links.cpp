// The real link protocol, and what keeps the links, on a network in memory.
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "async/event.h"
#include "async/loop.h"
#include "mesh/net/memory_network_for_tests.h"
#include "mesh/peers/peer_manager.h"
#include "mesh/support_for_tests.h"
#include "simulation/mesh/censor.h"
#include "simulation/mesh/ground.h"
#include "simulation/mesh/later.h"

namespace corral::mesh::simulation {
namespace {

using Path = std::pair<unsigned, unsigned>;

// The clock of a process that may stand still: nobody in it wakes meanwhile.
class StoppableTimers final : public async::Timers {
 public:
  StoppableTimers(async::ManualTimers& time, async::Executor executor) : time_(time), goes_on_(executor) {
    goes_on_.set();
  }

  MonoTime now() const override { return time_.now(); }
  WallTime wall_now() const override { return time_.wall_now(); }
  async::Task<void> sleep_until(MonoTime when) override {
    co_await time_.sleep_until(when);
    co_await goes_on_.wait();
  }
  void stop(bool stopped) {
    if (stopped)
      goes_on_.reset();
    else
      goes_on_.set();
  }

 private:
  async::ManualTimers& time_;
  async::Event goes_on_;
};

class Links final : public Ground {
 public:
  Links(unsigned nodes, const BrokenLinks& broken)
      : broken_(broken), processes_(nodes), set_({founder_.public_key(), {}}) {}
  ~Links() override {
    for (unsigned node = 0; node < processes_.size(); ++node) end(node);
  }

  async::ManualTimers& time() override { return timers_; }
  async::Executor executor() override { return loop_.executor(); }

  Peers& begin(unsigned node, const SigningKey& key, const Boot& boot) override {
    auto& process = processes_[node];
    const bool known = set_.standing(key.public_key()) != MembershipStatus::unknown;
    if (!known) {
      const MemberRecord record = sign_admit(founder_, set_.mesh(), key.public_key());
      (void)set_.add({&record, 1});
      // Somebody let it in, one who runs if there is one, and the others hear of it.
      Process* issuer = nullptr;
      for (auto& other : processes_) {
        const bool runs = other.peers && !other.paused;
        if (&other != &process && other.store && (!issuer || runs)) issuer = &other;
        if (issuer == &other && runs) break;
      }
      if (issuer) (void)issuer->store->learn({&record, 1});
      if (issuer && issuer->peers) issuer->peers->members_changed();
    }
    if (!process.store || process.key->public_key() != key.public_key()) {
      process.key = key;
      process.folder = std::make_unique<TestFolder>();
      *process.full = false;
      process.store = *MemberStore::begin(process.folder->path(), set_);
      process.tokens = *JoinTokenStore::open(process.folder->path());
    } else {
      process.store = std::move(**MemberStore::open(process.folder->path()));
    }
    process.timers = std::make_unique<StoppableTimers>(timers_, loop_.executor());
    process.paused = false;
    PeerManagerOptions options;
    options.boot = boot;
    options.folder = process.folder->path();
    options.addresses = {place(node)};
    options.seed = node + 1;
    options.max_links = std::max(options.max_links, processes_.size() + 1);  // the founder is a member and no node
    for (unsigned other = 0; other < processes_.size(); ++other) {
      if (other != node) options.configured.push_back({{}, place(other)});
    }
    process.peers = std::make_unique<PeerManager>(loop_.executor(), *process.timers, *process.key, *process.store,
                                                  *process.tokens, std::move(options));
    return *process.peers;
  }
  void go(unsigned node) override {
    auto& process = processes_[node];
    process.network = air_.add(process.key->public_key(), place(node), process.peers->authorizer());
    if (process.later) process.network = later(std::move(process.network));
    if (broken_.strict_frames || broken_.members_need_disk) {
      process.network = censored(std::move(process.network),
                                 [this, full = process.full](Frame frame) { return pass_on(std::move(frame), *full); });
    }
    process.peers->start(*process.network);
    for (unsigned other = 0; other < processes_.size(); ++other) apply(node, other);
    settle();
  }
  void end(unsigned node) override {
    auto& process = processes_[node];
    if (!process.peers) return;
    if (process.paused) process.timers->stop(false);
    process.peers.reset();
    process.network.reset();
    settle();
    gone_.push_back(std::move(process.timers));
  }
  void set_path(unsigned from, unsigned to, bool whole) override {
    if (whole)
      cut_.erase({from, to});
    else
      cut_.insert({from, to});
    apply(from, to);
  }
  void set_delay(unsigned from, unsigned to, Millis delay) override {
    delays_[{from, to}] = delay;
    apply(from, to);
  }
  void set_paused(unsigned node, bool paused) override {
    auto& process = processes_[node];
    process.paused = paused;
    process.timers->stop(paused);
    for (unsigned other = 0; other < processes_.size(); ++other) apply(node, other);
    settle();
  }
  void replace_link(unsigned, unsigned) override {}  // comes about by itself, when both dial
  bool revoke(unsigned node, unsigned by) override {
    auto& issuer = processes_[by];
    if (!processes_[node].key || !issuer.peers || issuer.paused) return false;
    if (!at_once(issuer.peers->revoke({processes_[node].key->id()}))) return false;
    (void)set_.merge(issuer.store->set());  // who loses its disk is told all when it joins again
    settle();
    return true;
  }
  // Where a file would be written first there is a folder.
  void set_full(unsigned node, bool full) override {
    const auto& folder = processes_[node].folder;
    if (!folder) return;
    *processes_[node].full = full;
    for (const auto* name : {"members.new", "peers.new", "epoch.new", "tokens.new"}) {
      if (full)
        std::filesystem::create_directory(*folder / name);
      else
        std::filesystem::remove(*folder / name);
    }
  }
  void set_later(unsigned node, bool later) override { processes_[node].later = later; }
  async::Timers& timers(unsigned node) override { return *processes_[node].timers; }
  MembershipStatus standing(unsigned at, const PublicKey& key) const override {
    const auto& store = processes_[at].store;
    return store ? store->set().standing(key) : MembershipStatus::unknown;
  }
  void pass(Millis time) override {
    timers_.advance(time);
    settle();
  }

 private:
  struct Process {
    std::optional<SigningKey> key;
    std::unique_ptr<TestFolder> folder;
    std::optional<MemberStore> store;
    std::optional<JoinTokenStore> tokens;
    std::unique_ptr<StoppableTimers> timers;
    std::unique_ptr<Network> network;
    std::unique_ptr<PeerManager> peers;
    bool paused = false;
    bool later = false;
    std::shared_ptr<bool> full = std::make_shared<bool>(false);
  };

  std::optional<Frame> pass_on(Frame frame, bool full) const {
    if (broken_.strict_frames && !is_known(frame.kind)) return std::nullopt;
    if (broken_.members_need_disk && full && frame.kind == FrameKind::members) frame.payload.assign(1, 1);  // none
    return frame;
  }

  static Address place(unsigned node) { return {"n" + std::to_string(node), 1}; }
  void apply(unsigned a, unsigned b) {
    for (const auto& [from, to] : {Path(a, b), Path(b, a)}) {
      const auto& sender = processes_[from];
      const auto& reader = processes_[to];
      if (!sender.key || !reader.key || from == to) continue;
      const bool stopped = cut_.contains({from, to}) || sender.paused || reader.paused;
      if (stopped)
        air_.cut(sender.key->public_key(), reader.key->public_key());
      else
        air_.heal(sender.key->public_key(), reader.key->public_key());
      const auto delay = delays_.find({from, to});
      if (delay != delays_.end()) air_.delay(sender.key->public_key(), reader.key->public_key(), delay->second);
    }
  }
  void settle() {
    while (loop_.context().poll() > 0) {
    }
  }

  const BrokenLinks broken_;
  SigningKey founder_ = test_key(9999);
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  MemoryNetwork air_{loop_.executor(), timers_};
  std::vector<Process> processes_;
  std::vector<std::unique_ptr<StoppableTimers>> gone_;
  MemberSet set_;
  std::set<Path> cut_;
  std::map<Path, Millis> delays_;
};

}  // namespace

std::unique_ptr<Ground> make_links(unsigned nodes, const BrokenLinks& broken) {
  return std::make_unique<Links>(nodes, broken);
}

}  // namespace corral::mesh::simulation
