// Tells this node's announcement over its links, and takes those of its peers. Each comes from its author, over the
// author's own link, and is passed on to nobody. Whoever gets a newer head asks its author for the pages that it lacks.
//
// What a peer sends has bounds: signatures that are checked for it, announcements each second, pages that were asked
// for and no others.
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
  // Called when a peer holds an announcement of this node's from a life that it forgot: the count to keep (keep_epoch).
  std::function<void(std::uint64_t epoch)> keep_epoch;
  // How heads are signed and checked, for simulations; empty: truly.
  std::function<void(Head&)> sign;
  std::function<bool(const Head&)> genuine;
  std::function<std::vector<std::string>(const NodeState&)> encode;  // as later versions do

  Millis tick{100};
  Millis between_own{500};                                // two announcements of this node
  Millis patience{5000};                                  // for pages that were asked for
  Millis rest{10'000};                                    // then its author is asked for them again
  Millis first_words{10'000};                             // nothing is known of a node: it may be about to speak
  Millis names_for{60'000};                               // of a linked node that doesn't say which models it has now
  int rounds = 3;                                         // of asking, before an announcement is given up
  RateLimit news{2, 6};                                   // announcements of one peer that are fetched
  RateLimit checks{500, 1500};                            // signatures, for one peer
  RateLimit bytes{2.0 * 1024 * 1024, 1.0 * 1024 * 1024};  // of pages, to one peer
  std::size_t most_asked = 256 * 1024;                    // bytes under way from one peer
  std::size_t book_bytes = 256 * 1024 * 1024;             // see AnnouncementStore
};

// For `doctor` and metrics.
struct GossipCounters {
  std::uint64_t heads_in = 0, heads_out = 0;
  std::uint64_t pages_in = 0, pages_out = 0;
  std::uint64_t checks = 0;    // of signatures
  std::uint64_t refused = 0;   // forged, malformed, or not asked for
  std::uint64_t accepted = 0;  // announcements of others
  std::uint64_t own = 0;       // announcements of this node
};

class Gossip final : public PeerEvents {
 public:
  // `peers` and `timers` outlive it. Doesn't listen by itself: whoever makes it calls peers.listen(gossip), best before
  // the first link.
  Gossip(Peers& peers, async::Timers& timers, async::Executor executor, SigningKey key, GossipOptions options);

  // What this node says from now on; its links are filled in here, its numbers are rounded. Told at once, or half a
  // second after the last time.
  void announce(NodeState said);
  // Called on the loop whenever known() has changed; one listener.
  void on_change(std::function<void()> changed) { on_change_ = std::move(changed); }

  // All members, this node among them, with how they can be reached and what they said in the life that they are in.
  std::vector<KnownNode> known() const;
  // Made when it is asked for and something has changed.
  std::shared_ptr<const Catalog> catalog();
  const AnnouncementStore& book() const { return book_; }
  const GossipCounters& counters() const { return counters_; }
  const Boot& boot() const { return boot_; }

  // Calls tick() as long as there is something to do; ends when it is cancelled.
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
  // A head of the peer that is newer than what the book has.
  struct Offer {
    Head head;
    HeadStamp stamp;
    std::size_t bytes;  // of the head and its pages
  };
  struct Fetch {
    Offer offer;
    std::vector<PageRef> missing;  // not asked for yet
    std::map<Sha256, std::uint32_t> under_way;
    std::vector<Page> got;
    int rounds;  // without an answer
    MonoTime deadline;
  };
  struct LinkState {
    NodeId peer;
    Boot hello;
    std::optional<Boot> spoken;  // life in its last head
    std::deque<Sha256> asked;    // pages that it wants
    MonoTime pages_from;         // it had its share; it gets more from then on
    std::optional<Head> late;    // the last one, that waits for its check
    std::optional<Fetch> fetch;
    std::optional<Offer> next;           // newer than what is being fetched
    std::optional<Offer> resting;        // it didn't give the pages, or they have no room; it is tried again
    std::optional<HeadStamp> worthless;  // its pages made no sense
    MonoTime rests_until;
    TokenBucket checks, bytes, news;
  };

  // gossip.cpp
  void say_own();
  void refill_links();
  void changed();
  void stir() { stirred_.set(); }
  Reach reach_of(const PeerView& view) const;
  std::shared_ptr<const NodeState> word_of(const NodeId& id, Reach reach) const;
  KnownNode known(const PeerView& view) const;
  void remember(const NodeId& author, std::shared_ptr<const NodeState> before);
  void tell(const NodeId& peer, const NodeId& author);
  void take_question(LinkState& link, std::string_view payload);
  void give_pages(LinkState& link);
  // gossip_take.cpp
  void take_heads(LinkState& link, std::string_view payload);
  void take_late(LinkState& link);
  bool take_head(LinkState& link, const Head& head);
  void hear(LinkState& link, const Boot& boot);
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
  AnnouncementStore book_;
  GossipCounters counters_;
  std::function<void()> on_change_;
  async::Event stirred_;

  NodeState said_;
  Boot boot_;
  std::uint64_t seq_ = 0;
  bool has_said_ = false;
  bool say_due_ = false;
  MonoTime say_from_{};

  std::map<NodeId, LinkState> links_;
  std::map<NodeId, std::shared_ptr<const NodeState>> before_;  // with models, of those who look for theirs again
  const MonoTime started_;
  std::shared_ptr<const Catalog> catalog_;
  std::optional<MonoTime> stale_at_;  // catalog_: names in it are forgotten then
};

}  // namespace corral::mesh
