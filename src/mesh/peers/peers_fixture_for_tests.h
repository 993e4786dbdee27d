// A mesh of several nodes in one process, on a network of either kind, with manual time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mesh/link/network_fixture_for_tests.h"
#include "mesh/peers/peer_manager.h"

namespace corral::mesh {

// The events of a listener, in order.
struct RecordedEvents : PeerEvents {
  void link_up(const NodeId&, const Hello&) override { ++ups; }
  void link_down(const NodeId&, const Closing& why) override { downs.push_back(why); }
  void frame(const NodeId&, const Frame& frame) override { frames.push_back(frame); }
  void reach_changed() override { ++reaches; }
  void members_changed() override { ++members; }
  void epoch_changed(const Boot& boot) override { epochs.push_back(boot.epoch); }

  int ups = 0, reaches = 0, members = 0;
  std::vector<Closing> downs;
  std::vector<Frame> frames;
  std::vector<std::uint64_t> epochs;
};

// Counts what a node dials.
class CountingNetwork final : public Network {
 public:
  explicit CountingNetwork(std::unique_ptr<Network> inner) : inner_(std::move(inner)) {}
  async::Task<Result<std::unique_ptr<Stream>>> dial(Place place, std::vector<NodeId> pins, Purpose purpose) override {
    dialled.emplace_back(place.address, purpose);
    origins[place.address].push_back(place.origin);
    auto inner = inner_->dial(std::move(place), std::move(pins), purpose);
    return count(dialling_, std::move(inner));
  }
  async::Task<Result<std::unique_ptr<Stream>>> accept() override { return inner_->accept(); }

  std::vector<std::pair<Address, Purpose>> dialled;
  std::map<Address, std::vector<Origin>> origins;  // of the dials there
  // Dials that haven't unwound yet.
  std::size_t dialling() const { return *dialling_; }

 private:
  using Dialled = async::Task<Result<std::unique_ptr<Stream>>>;
  // Dials may outlive the network.
  static Dialled count(std::shared_ptr<std::size_t> dials, Dialled inner) {
    struct Dialling {
      explicit Dialling(std::size_t& of) : dials(of) { ++dials; }
      ~Dialling() { --dials; }
      Dialling(const Dialling&) = delete;
      Dialling& operator=(const Dialling&) = delete;
      std::size_t& dials;
    };
    const Dialling dialling(*dials);
    co_return co_await std::move(inner);
  }

  const std::shared_ptr<std::size_t> dialling_ = std::make_shared<std::size_t>(0);
  std::unique_ptr<Network> inner_;
};

class PeersFixture : public testing::TestWithParam<Kind> {
 protected:
  struct Member {
    explicit Member(unsigned number) : key(test_key(number)), place{"n" + std::to_string(number), 1} {}
    SigningKey key;
    TestFolder folder;
    Address place;
    bool listens = true;
    std::vector<ConfiguredPeer> configured;
    async::ThreadPool* disk = nullptr;
    std::optional<MemberStore> store;
    std::optional<JoinTokenStore> tokens;
    std::unique_ptr<CountingNetwork> network;
    std::unique_ptr<PeerManager> peers;
    RecordedEvents events;
    std::vector<std::unique_ptr<Stream>> came;
  };

  void TearDown() override {
    opened.clear();
    for (auto& member : members) kill(*member);
    group.cancel();
    settle();
    members.clear();
    settle();
  }

  // Makes `count` members of one mesh; `start` runs them.
  void make_members(unsigned count) {
    const auto founder = test_key(1);
    MemberSet set({founder.public_key(), {}});
    for (unsigned number = 2; number <= count; ++number) {
      const MemberRecord record = sign_admit(founder, set.mesh(), test_key(number).public_key());
      ASSERT_TRUE(set.add({&record, 1}));
    }
    for (unsigned number = 1; number <= count; ++number) {
      auto member = std::make_unique<Member>(number);
      member->store = *MemberStore::begin(member->folder.path(), set);
      member->tokens = *JoinTokenStore::open(member->folder.path());
      members.push_back(std::move(member));
    }
  }
  void start(Member& member) {
    PeerManagerOptions options;
    options.boot = *count_boot(member.folder.path());
    options.folder = member.folder.path();
    options.disk = member.disk;
    options.configured = member.configured;
    options.seed = member.key.public_key().bytes[0];
    if (member.listens && GetParam() == Kind::memory) options.addresses = {member.place};
    member.peers = std::make_unique<PeerManager>(loop.executor(), timers, member.key, *member.store, *member.tokens,
                                                 std::move(options));
    member.peers->listen(member.events);
    for (const auto purpose : {Purpose::http, Purpose::copy, Purpose::rpc}) {
      member.peers->on_stream(purpose, [&member](auto stream) { member.came.push_back(std::move(stream)); });
    }
    std::unique_ptr<Network> network;
    const auto keeper = member.peers->authorizer();
    if (GetParam() == Kind::memory) {
      network = air.add(member.key.public_key(), member.place, member.listens ? keeper : PeerAuthorizer());
    } else {
      auto tls = std::make_unique<TlsNetwork>(loop.executor(), member.key, timers);
      if (member.listens) {
        if (member.place.host != "127.0.0.1") member.place = {"127.0.0.1", 0};
        member.place = *tls->listen(member.place, keeper);
        member.peers->set_addresses({member.place});
      }
      network = std::move(tls);
    }
    member.network = std::make_unique<CountingNetwork>(std::move(network));
    member.peers->start(*member.network);
  }
  // As kill -9: sends nothing.
  void kill(Member& member) {
    member.came.clear();
    member.peers.reset();
    member.network.reset();
    settle();
  }
  // Starts all members; each knows only the address of the first one.
  void start_all(unsigned count) {
    make_members(count);
    for (auto& member : members) {
      if (member != members.front()) member->configured = {{members.front()->key.id(), members.front()->place}};
      start(*member);
    }
  }
  void start_linked(unsigned count) {
    start_all(count);
    ASSERT_TRUE(come_together());
  }
  bool come_together() {
    return passing([this] { return all_up(); }, Millis(10000));
  }
  bool all_up() const {
    for (const auto& one : members) {
      for (const auto& other : members) {
        if (one != other && one->peers && other->peers && !one->peers->is_up(other->key.id())) return false;
      }
    }
    return true;
  }

  // Runs everything that needs no time to pass.
  void settle() { async::settle_sockets(loop); }
  void pass(Millis time, Millis step = Millis(100)) {
    for (Millis gone(0); gone < time; gone += step) {
      timers.advance(step);
      settle();
    }
  }
  // Lets time pass until `done`, for `limit` at most.
  bool passing(const std::function<bool()>& done, Millis limit, Millis step = Millis(50)) {
    settle();
    for (Millis gone(0); gone < limit && !done(); gone += step) {
      timers.advance(step);
      settle();
    }
    return done();
  }

  Member& a() { return *members[0]; }
  Member& b() { return *members[1]; }
  Member& c() { return *members[2]; }
  static const NodeId& id(const Member& member) { return member.peers->own(); }
  static PeerView view(const Member& of, const Member& peer) {
    for (auto& view : of.peers->view()) {
      if (view.id == peer.key.id()) return view;
    }
    return {};
  }
  void cut(const Member& one, const Member& other) {
    air.cut(one.key.public_key(), other.key.public_key());
    air.cut(other.key.public_key(), one.key.public_key());
  }
  void heal(const Member& one, const Member& other) {
    air.heal(one.key.public_key(), other.key.public_key());
    air.heal(other.key.public_key(), one.key.public_key());
  }
  void delay(const Member& one, const Member& other, Millis time) {
    air.delay(one.key.public_key(), other.key.public_key(), time);
    air.delay(other.key.public_key(), one.key.public_key(), time);
  }

  using Opened = std::optional<Result<std::unique_ptr<Stream>>>;
  static async::Task<void> open_into(std::shared_ptr<Opened> result, PeerManager& peers, NodeId to, Purpose purpose) {
    *result = co_await peers.open(to, purpose);
  }
  // The result is empty until the open ends.
  std::shared_ptr<Opened> open(Member& from, const Member& to, Purpose purpose = Purpose::http) {
    auto result = std::make_shared<Opened>();
    group.spawn("open", open_into(result, *from.peers, to.key.id(), purpose));
    opened.push_back(result);
    settle();
    return result;
  }
  static async::Task<void> stop_it(PeerManager& peers, bool& done) {
    co_await peers.stop();
    done = true;
  }
  void run_stop(Member& member) {
    bool done = false;
    group.spawn("stop", stop_it(*member.peers, done));
    EXPECT_TRUE(passing([&] { return done; }, Millis(3000)));
  }
  static async::Task<void> write_to(Stream& stream, std::string text) { EXPECT_TRUE(co_await stream.write(text)); }
  void write(Stream& stream, std::string text) {
    group.spawn("write", write_to(stream, std::move(text)));
    settle();
  }
  struct Read {
    std::string text;
    bool ended = false;
    std::optional<Error> error;
  };
  static async::Task<void> read_into(std::shared_ptr<Read> read, Stream& stream) {
    std::array<char, 1000> space;
    while (true) {
      const auto got = co_await stream.read_some(space);
      if (!got) read->error = got.error();
      if (!got || *got == 0) read->ended = true;
      if (read->ended) co_return;
      read->text.append(space.data(), *got);
    }
  }
  // Reads until the end of the stream.
  std::shared_ptr<Read> read(Stream& stream) {
    auto result = std::make_shared<Read>();
    group.spawn("read", read_into(result, stream));
    settle();
    return result;
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  async::TaskGroup group{loop.executor()};
  MemoryNetwork air{loop.executor(), timers};
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::shared_ptr<Opened>> opened;
};

}  // namespace corral::mesh
