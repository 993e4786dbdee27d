// Sends announcements over links, the own one and those of others, and takes theirs: so every member comes to hold the
// same book. Heads are told to whoever may not have them; who gets one that is newer asks for the pages it lacks.
//
//   - A link that comes up is told all heads; later each head once. A head isn't passed on to a node that its author
//     has a link to itself: the author tells it.
//   - Whatever a peer sends has a bound: signatures that are checked for it, announcements of one author each second,
//     pages that were asked for and no others. A peer that doesn't answer is left for another one that has the same.
//
// Belongs to the mesh's loop. Time passes in tick(), which run() calls.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/timer.h"
#include "mesh/catalog/announcement_book.h"
#include "mesh/catalog/catalog.h"
#include "mesh/net/token_bucket.h"
#include "mesh/peers/peers.h"

namespace corral::mesh {

struct GossipOptions {
  MeshId mesh;
  std::function<Standing(const PublicKey&)> standing;  // of a key in the mesh, now
  // Called when a peer holds an announcement of this node's from a life that it forgot: the count to keep (keep_epoch).
  std::function<void(std::uint64_t epoch)> keep_epoch;
  // How heads are signed and checked, for simulations; empty: truly.
  std::function<void(Head&)> sign;
  std::function<bool(const Head&)> genuine;
  std::function<std::vector<std::string>(const Statement&)> encode;  // as later versions do

  Millis tick{100};
  Millis between_own{500};                           // two announcements of this node
  Millis patience{5000};                             // for pages that were asked for
  Millis rest{10'000};                               // then nobody is asked for it
  Millis first_words{10'000};                        // nothing is known of a node: it may be about to speak
  Millis names_for{60'000};                          // of a linked node that doesn't say which models it has now
  int rounds = 3;                                    // of asking all who have them, before an announcement is given up
  Pace news{2, 6};                                   // announcements of one author that are fetched
  Pace checks{500, 1500};                            // signatures, for one peer
  Pace bytes{2.0 * 1024 * 1024, 1.0 * 1024 * 1024};  // of pages, to one peer
  std::size_t most_asked = 256 * 1024;               // bytes under way from one peer
  // Announcements whose pages are on their way, 1 MiB each at most: of all peers, and of one. What an author tells over
  // its own link is always fetched.
  std::size_t most_fetches = 256;
  std::size_t most_fetches_of_peer = 16;
  std::size_t most_heads_waiting = 64 * 1024 * 1024;  // bytes of all peers together; who has none waiting may always
  std::size_t book_bytes = 256 * 1024 * 1024;         // see AnnouncementBook
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
  void announce(Statement said);
  // Called on the loop whenever known() has changed; one listener.
  void on_change(std::function<void()> changed) { on_change_ = std::move(changed); }

  // All members, this node among them, with how they can be reached and what they said in the life that they are in.
  std::vector<KnownNode> known() const;
  // Made when it is asked for and something has changed.
  std::shared_ptr<const Catalog> catalog();
  const AnnouncementBook& book() const { return book_; }
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
  struct LinkState {
    Boot hello;
    std::optional<Boot> spoken;         // life in its last head of itself, over this link
    std::map<NodeId, HeadStamp> shown;  // the newest head of each author that it has, as far as is known
    std::set<NodeId> to_tell;           // authors
    MonoTime heads_from;                // may be told from then on
    std::deque<std::string> heads_in;   // frames that wait for their check
    std::size_t heads_in_bytes = 0;
    std::deque<std::pair<NodeId, std::optional<Sha256>>> asked;  // what it wants: a page, or none: the head
    MonoTime pages_from;                                         // it had its share; it gets more from then on
    std::set<PublicKey> passed_over;                             // authors that weren't known when it told of them
    std::set<PublicKey> to_ask;                                  // authors whose heads it is to tell again
    MonoTime ask_from;
    std::size_t under_way = 0;             // bytes that we asked it for
    std::shared_ptr<std::size_t> fetches;  // places of most_fetches_of_peer that are taken
    TokenBucket checks, bytes;
  };
  // A head that is newer than what the book has, and who has it.
  struct Offer {
    Head head;
    HeadStamp stamp;
    std::size_t bytes;  // of the head and its pages
    std::set<NodeId> sources;
  };
  struct Fetch {
    Offer offer;
    std::vector<PageRef> missing;  // not asked for yet
    std::map<Sha256, std::uint32_t> under_way;
    std::vector<Page> got;
    std::optional<NodeId> asked;
    std::set<NodeId> tried;
    bool sent;   // a question, in this round
    int rounds;  // in which nobody answered
    MonoTime deadline;
    NodeId payer;                 // whose place it has
    std::shared_ptr<void> place;  // one of most_fetches and of most_fetches_of_peer
  };
  struct AuthorState {
    std::optional<Fetch> fetch;
    std::optional<Offer> next;           // newer than what is being fetched
    std::optional<Offer> before;         // older, and newer than what the book has: when the fetch fails
    std::optional<HeadStamp> worthless;  // its pages made no sense
    std::optional<Offer> silent;         // nobody gave its pages; it is tried again
    MonoTime silent_until;
    TokenBucket news;
  };

  // gossip.cpp
  void say_own();
  void refill_links();
  void changed();
  static void pass_over(LinkState& link, const PublicKey& author);
  void ask_for_heads(const NodeId& of, LinkState& link);
  void drop_link(const NodeId& peer);
  void stir() { stirred_.set(); }
  Reach reach_of(const PeerView& view) const;
  std::shared_ptr<const Statement> word_of(const NodeId& id, Reach reach) const;
  KnownNode known(const PeerView& view) const;
  void remember(const NodeId& author, std::shared_ptr<const Statement> before);
  // gossip_tell.cpp
  void tell_all(const NodeId& author);
  bool wants_telling(const NodeId& to, const LinkState& link, const NodeId& author) const;
  void pump(const NodeId& to, LinkState& link);
  void take_question(const NodeId& from, LinkState& link, std::string_view payload);
  void give_pages(const NodeId& to, LinkState& link);
  bool give_head(const NodeId& to, LinkState& link);
  bool takes_share(LinkState& link, std::size_t bytes);
  // gossip_take.cpp
  void take_heads(const NodeId& from, LinkState& link);
  bool take_frame(const NodeId& from, LinkState& link, const std::string& payload);
  bool take_head(const NodeId& from, LinkState& link, const Head& head);
  void hear(LinkState& link, const Boot& boot);
  void take_own_head(const NodeId& from, const Head& head);
  void offer(const NodeId& author, const NodeId& from, const Head& head, const HeadStamp& stamp);
  std::optional<NodeId> payer_for(const NodeId& author, const Offer& offer) const;
  void take_place(const NodeId& author, const NodeId& payer, Fetch& fetch);
  void find_payer(const NodeId& author, AuthorState& state);
  void begin_next(const NodeId& author, AuthorState& state);
  bool has_enough_to_do(const LinkState& link, const PageRef& next) const;
  std::optional<NodeId> source_for(const NodeId& author, const Fetch& fetch) const;
  void ask_on(const NodeId& author, AuthorState& state);
  void take_pages(const NodeId& from, std::string_view payload);
  void complete(const NodeId& author, AuthorState& state);
  void give_up_asking(Fetch& fetch);
  void give_up(AuthorState& state);
  void lay_aside(AuthorState& state, Offer offer);
  void lose_source(const NodeId& peer);
  void advance(const NodeId& author);

  Peers& peers_;
  async::Timers& timers_;
  const SigningKey key_;
  const NodeId own_;
  GossipOptions options_;
  AnnouncementBook book_;
  GossipCounters counters_;
  std::function<void()> on_change_;
  async::Event stirred_;

  Statement said_;
  Boot boot_;
  std::uint64_t seq_ = 0;
  bool has_said_ = false;
  bool say_due_ = false;
  MonoTime say_from_{};

  std::shared_ptr<std::size_t> fetching_ = std::make_shared<std::size_t>(0);
  std::size_t heads_waiting_ = 0;  // bytes
  std::map<NodeId, LinkState> links_;
  std::map<NodeId, AuthorState> authors_;
  std::map<NodeId, std::shared_ptr<const Statement>> before_;  // with models, of those who look for theirs again
  const MonoTime started_;
  std::shared_ptr<const Catalog> catalog_;
  std::optional<MonoTime> stale_at_;  // catalog_: names in it are forgotten then
};

}  // namespace corral::mesh
