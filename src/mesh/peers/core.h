// What is behind LivePeers. Tasks hold it, so that it outlives LivePeers until they have unwound.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <span>

#include "async/task_group.h"
#include "base/counted.h"
#include "mesh/link/member_exchange.h"
#include "mesh/peers/address_book.h"
#include "mesh/peers/frame_budget.h"
#include "mesh/peers/live_peers.h"
#include "mesh/peers/tracked_stream.h"
#include "mesh/peers/whereabouts.h"

namespace corral::mesh {

inline constexpr std::size_t kMostHttp = 32;  // streams in use, each way of each pair
inline constexpr std::size_t kMostCopies = 4;
inline constexpr std::size_t kMostRpc = 40;  // the connections of an engine, and some that wait for one
inline constexpr std::size_t kMostIdle = 4;  // of a pair and a purpose, that we opened
inline constexpr std::size_t kMostParked =
    48;  // of a pair, that the peer opened and hasn't used: all at once, and spares
inline constexpr std::size_t kMostDials = 8;    // of one peer at a time
inline constexpr std::size_t kMostGreeted = 4;  // control streams of one peer that have no link yet
inline constexpr std::size_t kMostAsked = 32;   // requests to dial that wait

// A stream that a peer was asked to dial.
struct Expected {
  explicit Expected(async::Executor executor) : arrived(executor) {}
  Signal arrived;
  std::unique_ptr<Stream> stream;
  bool given_up = false;  // who was asked to dial can't be reached any more
};

struct DownWaiter {
  explicit DownWaiter(async::Executor executor) : down(executor) {}
  Signal down;
  std::optional<Closing> why;
};

// One member.
struct Node {
  Node(async::Executor executor, const PublicKey& of, MonoTime now);
  // Nothing begins any more once the node is gone: whoever ends it waits for what runs.
  void run(const char* name, async::Task<void> task) {
    if (!gone) tasks.spawn(name, std::move(task));
  }
  // A dial: of several at a time others may have gone well.
  void failed(std::string why) {
    if (!link) last_failure = std::move(why);
  }

  const PublicKey key;
  const NodeId id;
  bool gone = false;  // no member any more, or all is at its end
  AddressBook addresses;
  std::optional<EpochClaim> claim;  // the newest that is known
  std::uint16_t minor = 0;

  std::shared_ptr<Link> link;  // while it is up
  MonoTime since;              // of being up, or not
  MonoTime fresh_since;        // when there was last a reason to dial often
  std::uint64_t links = 0;
  std::optional<Closing> last_end;
  std::string last_failure;
  bool greeting = false;  // over a stream that we dialled
  std::size_t greeted = 0;
  std::size_t dials = 0;
  Signal stir;          // for who dials
  Signal link_changed;  // up, another one, down
  TokenBucket hints{{1, 4}};
  TokenBucket calls{{8, 32}};  // control streams that come
  // Of members that aren't known yet: a signature each. A whole set of a mesh at once, twice.
  TokenBucket records{{64, 8192}};
  MonoTime refused_until{};  // it forged records

  std::set<NodeId> reaches;  // it says that it has links to them
  bool up = false;           // as listeners were told last
  std::vector<std::shared_ptr<DownWaiter>> waiters;
  std::multiset<HeldId> holding;
  std::array<TokenBucket, kAllowances> allowances{TokenBucket({4.0 / 60, 4}), TokenBucket({2, 8})};

  std::shared_ptr<Traffic> traffic = std::make_shared<Traffic>();
  std::map<Purpose, std::shared_ptr<Slots>> to, from;
  std::map<Purpose, std::deque<BodyPtr>> idle;
  std::vector<std::weak_ptr<StreamBody>> streams;
  std::size_t parked = 0;
  std::size_t refilling = 0;
  MonoTime refill_after{};
  MonoTime not_dialable_until{};
  std::map<std::uint64_t, std::shared_ptr<Expected>> expected;
  std::deque<DialMe> asked;
  std::size_t answering = 0;

  async::TaskGroup tasks;
};
using NodePtr = std::shared_ptr<Node>;

using StreamResult = Result<std::unique_ptr<Stream>>;

struct PeersCore : std::enable_shared_from_this<PeersCore> {
  using Ptr = std::shared_ptr<PeersCore>;

  PeersCore(async::Executor on, async::Timers& time, const SigningKey& own_key, MemberBook& members, TokenStore& issued,
            LivePeersOptions with);

  void load();
  NodePtr find(const NodeId& id) const;
  bool is_named(const NodeId& id) const;
  // Cancels all; nothing begins any more. Once.
  void end();
  // After end(): until nothing runs that could touch what this was given, and what was to be written is.
  static async::Task<void> until_unwound(Ptr core);
  void run(const char* name, async::Task<void> task) {
    if (!ended) tasks.spawn(name, std::move(task));
  }
  template <typename Call>
  void tell(const Call& call) {
    const auto all = listeners;
    for (auto* one : all) {
      if (std::ranges::find(listeners, one) != listeners.end()) call(*one);
    }
  }

  // core_members.cpp
  void members_changed();
  void sync_nodes();
  void spread_members();
  void drop(const NodePtr& node);
  bool is_member() const { return book.set().standing(own.public_key()) == Standing::member; }
  Result<bool> learn(Node& node, std::span<const MemberRecord> records);
  void learn_own(const EpochClaim& held);
  void learn_claim(Node& node, const EpochClaim& claim);

  // core_links.cpp
  bool wants_link(const Node& node) const;
  static async::Task<void> keep_linked(Ptr core, NodePtr node);
  static async::Task<void> dial_once(Ptr core, NodePtr node, Address address, Millis limit);
  static async::Task<void> dial_unnamed(Ptr core, Address address);
  static async::Task<void> greet_dialled(Ptr core, NodePtr node, std::unique_ptr<Stream> stream, Address address);
  static async::Task<void> greet_caller(Ptr core, NodePtr node, std::unique_ptr<Stream> stream);
  static async::Task<Result<>> greet(Ptr core, NodePtr node, std::unique_ptr<Stream> stream);
  void adopt(const NodePtr& node, const std::shared_ptr<Link>& link, bool members_told);
  static async::Task<void> serve(Ptr core, NodePtr node, std::shared_ptr<Link> link);
  Result<> take_frame(const NodePtr& node, PageCollector& pages, const Frame& frame);
  void end_link(const NodePtr& node, const std::shared_ptr<Link>& link);
  void bury(std::shared_ptr<Link> link);
  void send(Node& node, Frame frame);

  // core_whereabouts.cpp
  Whereabouts whereabouts() const;
  void tell_whereabouts();
  Result<> take_whereabouts(const NodePtr& node, const Frame& frame);
  void reach_changed(const Closing& why);
  static void tell_waiters(Node& node, const Closing& why);
  void remember();
  void write_file();

  // core_streams.cpp
  void take_stream(std::unique_ptr<Stream> stream);
  static async::Task<Result<std::unique_ptr<Stream>>> open(Ptr core, NodeId id, Purpose purpose);
  static async::Task<StreamResult> make_stream(Ptr core, NodePtr node, Purpose purpose);
  static async::Task<StreamResult> dial_straight(Ptr core, NodePtr node, std::vector<Address> addresses,
                                                 Purpose purpose);
  static async::Task<StreamResult> ask_to_dial(Ptr core, NodePtr node, Purpose purpose);
  static async::Task<void> take_back(Ptr core, NodePtr node, std::unique_ptr<Stream> stream);
  static async::Task<void> answer_dial_me(Ptr core, NodePtr node);
  static BodyPtr keep(Node& node, std::unique_ptr<Stream> stream, Purpose purpose, bool by_us);
  void park(const NodePtr& node, std::unique_ptr<Stream> stream, Purpose purpose);
  static async::Task<void> wait_for_use(Ptr core, NodePtr node, BodyPtr body);
  void give_back(std::unique_ptr<Stream> stream);
  void close_streams(Node& node);
  void refill();
  void refill_soon(Node& node);
  static async::Task<void> refill_one(Ptr core, NodePtr node);
  static async::Task<void> tidy(Ptr core);

  const async::Executor executor;
  async::Timers& timers;
  const SigningKey own;
  const NodeId own_id;
  MemberBook& book;
  TokenStore& tokens;
  LivePeersOptions options;
  Network* network = nullptr;
  bool stopping = false;
  bool ended = false;
  EpochClaim claim;
  DurableFile peers_file;
  std::map<NodeId, NodePtr> nodes;
  std::vector<std::weak_ptr<Node>> gone_nodes;  // whose tasks may still unwind
  std::vector<PeerEvents*> listeners;
  std::map<Purpose, Peers::StreamHandler> handlers;
  MemberSet spread;  // what every link was told
  bool spread_due = false;
  MonoTime spread_at{};
  bool whereabouts_due = false;
  TokenBucket whereabouts_pace{{4, 16}};  // half of what a peer takes, see FrameBudget
  std::string whereabouts_told;           // to all; empty: not the same to all
  bool file_due = false;
  std::size_t refills = 0;
  bool refill_due = false;
  std::mt19937_64 chance;
  std::set<NodeId> chosen;  // whom we dial, in a mesh that is too large for all
  async::TaskGroup tasks;
};

}  // namespace corral::mesh
