// Sends this node's announcement over its links, and takes those of its peers. Each comes from its author, over the
// author's own link, and is never forwarded. A node that gets a newer head asks its author for the pages it lacks.
//
// Everything from a peer has bounds: checked signatures and announcements each second, and only requested pages.
//
// Belongs to the mesh's loop. Time passes in tick(), which run() calls.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/timer.h"
#include "mesh/catalog/announcement_store.h"
#include "mesh/catalog/catalog.h"
#include "mesh/net/token_bucket.h"
#include "mesh/peers/peers.h"

namespace corral::mesh {

struct GossipOptions {
  MeshId mesh;
  std::function<MembershipStatus(const PublicKey&)> standing;  // of a key in the mesh, now
  // Called if a peer has an announcement of this node of an epoch that it forgot: the epoch to keep (keep_epoch).
  std::function<void(std::uint64_t epoch)> keep_epoch;
  // How simulations sign and check heads; empty: with real signatures.
  std::function<void(Head&)> sign;
  std::function<bool(const Head&)> genuine;
  std::function<std::vector<std::string>(const NodeState&)> encode;  // for tests: as later versions do

  Millis tick{100};
  Millis between_own{500};      // between two announcements of this node
  Millis patience{5000};        // wait for requested pages
  Millis rest{10'000};          // then they are requested again
  Millis first_words{10'000};   // an unknown node may announce itself within this time
  Millis names_for{60'000};     // keep the names of a linked node that hasn't announced its models
  int rounds = 3;               // of requests, before a fetch fails
  RateLimit fetches{2, 6};      // fetched announcements of one peer
  RateLimit checks{500, 1500};  // signatures, for one peer
  RateLimit bytes{2.0 * 1024 * 1024, 1.0 * 1024 * 1024};  // of pages, to one peer
  std::size_t max_requested = 256 * 1024;                 // requested bytes of one peer at a time
  std::size_t store_bytes = 256 * 1024 * 1024;            // see AnnouncementStore
};

// For `doctor` and metrics.
struct GossipCounters {
  std::uint64_t heads_in = 0, heads_out = 0;
  std::uint64_t pages_in = 0, pages_out = 0;
  std::uint64_t checks = 0;    // of signatures
  std::uint64_t refused = 0;   // forged, malformed, or not requested
  std::uint64_t accepted = 0;  // announcements of other nodes
  std::uint64_t own = 0;       // announcements of this node
};

class Gossip final : public PeerEvents {
 public:
  // `peers` and `timers` outlive it. The caller registers it with peers.listen(gossip), best before the first link.
  Gossip(Peers& peers, async::Timers& timers, async::Executor executor, SigningKey key, GossipOptions options);

  // Publishes this state from now on; fills in the links and rounds the numbers. Sent at once, or half a second after
  // the last announcement.
  void announce(NodeState node_state);
  // Called on the loop whenever known() has changed; one listener.
  void on_change(std::function<void()> changed) { on_change_ = std::move(changed); }

  // All members, this node among them, with their reach and their state of the present epoch.
  std::vector<KnownNode> known() const;
  // Computed on demand, after a change.
  std::shared_ptr<const Catalog> catalog();
  const AnnouncementStore& store() const { return store_; }
  const GossipCounters& counters() const { return counters_; }
  const Boot& boot() const { return boot_; }

  // Calls tick() while there is work; ends by cancellation.
  async::Task<void> run();
  void tick();
  bool busy() const;

  void link_up(const NodeId& peer, const Hello& hello) override;
  void link_down(const NodeId& peer, const Closing& why) override;
  void frame(const NodeId& peer, const Frame& frame) override;
  void reach_changed() override;
  void members_changed() override;
  void epoch_changed(const Boot& boot) override;

 private:
  // A head of the peer, newer than the one in the store.
  struct Offer {
    Head head;
    HeadStamp stamp;
    std::size_t bytes;  // of the head and its pages
  };
  struct Fetch {
    Offer offer;
    std::vector<PageRef> missing;  // not requested yet
    std::map<Sha256, std::uint32_t> under_way;
    std::vector<Page> got;
    int rounds;  // without an answer
    MonoTime deadline;
  };
  struct LinkState {
    NodeId peer;
    Boot hello;
    std::optional<Boot> spoken;  // epoch of its last head
    std::deque<Sha256> asked;    // pages that it requested
    MonoTime pages_from;         // its limit is reached; it gets more pages from then on
    std::optional<Head> late;    // the last one, which waits for its check
    std::optional<Fetch> fetch;
    std::optional<Offer> next;           // newer than the one being fetched
    std::optional<Offer> resting;        // its pages didn't come, or didn't fit; retried later
    std::optional<HeadStamp> worthless;  // its pages were malformed
    MonoTime rests_until;
    TokenBucket checks, bytes, fetches;
  };

  // gossip.cpp
  void announce_own();
  void refill_links();
  void changed();
  void stir() { stirred_.set(); }
  Reach reach_of(const PeerView& view) const;
  std::shared_ptr<const NodeState> word_of(const NodeId& id, Reach reach) const;
  KnownNode known(const PeerView& view) const;
  void remember(const NodeId& author, std::shared_ptr<const NodeState> before);
  void send_head(const NodeId& peer, const NodeId& author);
  void take_question(LinkState& link, std::string_view payload);
  void give_pages(LinkState& link);
  // gossip_take.cpp
  void take_heads(LinkState& link, std::string_view payload);
  void take_late(LinkState& link);
  bool take_head(LinkState& link, const Head& head);
  void note_epoch(LinkState& link, const Boot& boot);
  void take_own_head(const NodeId& from, const Head& head);
  void begin_next(LinkState& link);
  void ask_on(LinkState& link);
  void take_pages(LinkState& link, std::string_view payload);
  void complete(LinkState& link);
  void fail_round(LinkState& link);
  void lay_aside(LinkState& link, Offer offer);
  void advance(LinkState& link);

  Peers& peers_;
  async::Timers& timers_;
  const SigningKey key_;
  const NodeId own_;
  GossipOptions options_;
  AnnouncementStore store_;
  GossipCounters counters_;
  std::function<void()> on_change_;
  async::Event stirred_;

  NodeState own_state_;
  Boot boot_;
  std::uint64_t seq_ = 0;
  bool has_own_state_ = false;
  bool announcement_due_ = false;
  MonoTime announce_from_{};

  std::map<NodeId, LinkState> links_;
  std::map<NodeId, std::shared_ptr<const NodeState>>
      before_;  // with models, of restarted nodes that haven't announced theirs yet
  const MonoTime started_;
  std::shared_ptr<const Catalog> catalog_;
  std::optional<MonoTime> stale_at_;  // when names in catalog_ expire
};

}  // namespace corral::mesh
