// What must hold after each step, and in the end.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/secret.h"
#include "simulation/mesh/world.h"

namespace corral::mesh::simulation {
namespace {

constexpr Millis kGoneNoticed{8000};

std::string describe(const Catalog& catalog, bool own_view) {
  std::string text;
  for (const auto& model : catalog.models()) {
    text += own_view ? model.name : to_hex(model.content.bytes).substr(0, 8);
    text += fmt::format(" {}", name_of(model.status));
    for (const auto& copy : model.copies) {
      text += " " + short_text(copy.node->id);
      if (copy.serving) text += fmt::format(" {}", name_of(copy.serving->state));
    }
    if (model.host) text += " host " + short_text(*model.host);
    text += "\n";
  }
  return text;
}

// By content, so that it is the same at each node whatever its own names are.
std::string shared_view(const Catalog& catalog) {
  std::vector<std::string> lines;
  for (const auto& model : catalog.models()) {
    if (model.copies.empty()) continue;  // wishes depend on the names that one has oneself
    std::string line = to_hex(model.content.bytes).substr(0, 8);
    for (const auto& copy : model.copies) line += " " + short_text(copy.node->id) + (copy.serving ? "+" : "");
    if (model.host) line += " host " + short_text(*model.host);
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

void World::fail(std::string rule, std::string detail) {
  if (!outcome_.violation) outcome_.violation = Violation{std::move(rule), std::move(detail)};
}

void World::check() {
  ++steps_;
  for (unsigned at = 0; at < nodes_.size() && !outcome_.violation; ++at) {
    // In a large mesh a few nodes each time.
    if (nodes_.size() > 8 && (steps_ + at) % nodes_.size() > 1) continue;
    if (nodes_[at].process && !nodes_[at].paused) check_node(at);
  }
}

void World::check_node(unsigned at) {
  auto& node = nodes_[at];
  const auto& gossip = *node.process->gossip;
  for (unsigned other = 0; other < nodes_.size(); ++other) {
    const auto author = id_of(other);
    const auto* announcement = gossip.store().find(author);
    if (!announcement) continue;
    auto& newest = node.newest[author];
    if (announcement->stamp < newest)
      fail("(epoch, seq) of an author only rises", fmt::format("n{} about {}", at, short_text(author)));
    newest = announcement->stamp;
    if (ground_->standing(at, announcement->head.author) != MembershipStatus::member)
      fail("only members' words are kept", fmt::format("n{} about {}", at, short_text(author)));
  }
  if (gossip.store().bytes() > 3 * kMaxStatementBytes * nodes_.size())
    fail("a book is bounded", fmt::format("n{}", at));
  const auto all = gossip.known();
  for (const auto& known : all) check_word(at, known);
  check_thrown_out(at, all);
  check_catalog(at);
}

// Who has a link to the one that threw a node out has been told, and heeds it, whatever its disk says.
void World::check_thrown_out(unsigned at, const std::vector<KnownNode>& all) {
  const auto grace = kNoticed + kMaxDelay + Millis(1000);
  const auto now = ground_->time().now();
  for (const auto& gone : nodes_) {
    if (!gone.revoked || !gone.key || &gone == &nodes_[at] || nodes_[at].revoked) continue;
    const auto there = std::ranges::find(all, gone.key->id(), &KnownNode::id);
    if (there == all.end() || !is_routable(there->reach)) continue;
    const auto revoker = std::ranges::find(all, gone.revoked_by, &KnownNode::id);
    if (revoker == all.end() || revoker->reach != Reach::linked) continue;
    const auto number = number_of(revoker->id);
    if (!number || nodes_[*number].paused) continue;
    const auto received = std::max({gone.revoked_at, revoker->since, nodes_[at].resumed, nodes_[*number].resumed});
    if (now - received > grace)
      fail("who was thrown out is out wherever that is known",
           fmt::format("n{} reaches {}", at, short_text(there->id)));
  }
}

void World::check_word(unsigned at, const KnownNode& known) {
  const auto now = ground_->time().now();
  const auto number = number_of(known.id);
  if (!number) {
    // A key that was on a disk which is lost.
    if (is_routable(known.reach) && now - nodes_[at].resumed > kGoneNoticed) {
      bool fresh = false;
      for (const auto& node : nodes_)
        fresh = fresh || now - node.since < kGoneNoticed || node.paused || now - node.resumed < kGoneNoticed;
      if (!fresh) fail("a node that lost its disk is gone", fmt::format("n{} reaches {}", at, short_text(known.id)));
    }
    return;
  }
  const auto& about = nodes_[*number];
  if (known.reach == Reach::linked && *number != at) {
    const auto broken = broken_since(at, *number);
    const auto grace = kNoticed + kMaxDelay;
    if (broken && now - *broken > grace && now - nodes_[at].resumed > grace)
      fail("a link that is broken isn't routed over", fmt::format("n{} to n{}", at, *number));
  }
  if (!known.node_state || about.liar) return;
  auto& compared = nodes_[at].compared[known.id];
  if (known.reach == Reach::linked && about.process) {
    const auto run = fmt::format("{}:{}:", *number, about.starts);
    const bool of_this_run = known.node_state->version.starts_with(run);
    // A link that is a queue ends with its process; a real one may be cut and live on for a while.
    const auto grace = kNoticed + kMaxDelay;
    const bool settled = now - about.since > grace && now - nodes_[at].resumed > grace && !broken_since(at, *number);
    if (!of_this_run && (settled || !setting_.links))
      fail("what a node said in an earlier life isn't its word",
           fmt::format("n{} has {} of life {} of n{}", at, known.node_state->version, about.starts, *number));
  }
  if (compared == known.node_state) return;
  compared = known.node_state;
  const auto logged = log_.find(known.node_state->version);
  auto received = *known.node_state;
  received.links.clear();
  if (logged == log_.end() || !(logged->second == received) ||
      !known.node_state->version.starts_with(fmt::format("{}:", *number)))
    fail("what is known of a node is what it said",
         fmt::format("n{} about n{}: {}", at, *number, known.node_state->version));
}

void World::check_catalog(unsigned at) {
  auto& gossip = *nodes_[at].process->gossip;
  const auto catalog = catalog_of(at);
  std::set<std::string> names;
  for (const auto& model : catalog->models()) {
    if (!names.insert(model.name).second) fail("a name is listed once", model.name);
    if (catalog->find(model.name).model != &model) fail("a listed name finds its model", model.name);
    for (const auto& copy : model.copies) {
      if (!is_routable(copy.node->reach)) fail("a model is only where one gets to", model.name);
      if (copy.model->hash && *copy.model->hash != model.content.bytes) fail("one content is one model", model.name);
    }
    if (model.copies.empty() != (model.status == ModelStatus::downloadable)) fail("a model is somewhere", model.name);
  }
  if (steps_ % 16 == 0) {
    auto nodes = gossip.known();
    std::ranges::reverse(nodes);
    std::ranges::rotate(nodes, nodes.begin() + static_cast<std::ptrdiff_t>(steps_ / 16 % nodes.size()));
    if (describe(*make_catalog(nodes), true) != describe(*catalog, true))
      fail("the order of nodes changes nothing", fmt::format("n{}", at));
  }
  const auto all = gossip.known();
  remember_names(at, all);
  check_names(at, *catalog, all);
  if (nodes_.size() <= 8) check_unknown(at, *catalog, all);
}

// What members said of their models, kept beside what gossip keeps: who goes or starts anew had them when it last said
// so. That it says nothing for long is another matter.
void World::remember_names(unsigned at, const std::vector<KnownNode>& all) {
  const GossipOptions options;
  const auto now = ground_->time().now();
  for (const auto& known : all) {
    auto& names = nodes_[at].names[known.id];
    if (known.node_state && !known.node_state->looking) {
      names.clear();
      for (const auto& model : known.node_state->models) names.emplace(model.name, model.hash);
    } else if (known.reach == Reach::linked && now - known.since >= options.names_for) {
      names.clear();
    }
  }
}

// A model that a member had when it last said so isn't unknown, however dead, cut off or newly started its node is.
void World::check_unknown(unsigned at, const Catalog& catalog, const std::vector<KnownNode>& all) {
  for (const auto& known : all) {
    const auto number = number_of(known.id);
    if (!number || *number == at || nodes_[*number].liar) continue;
    for (const auto& [name, hash] : nodes_[at].names[known.id]) {
      const auto found = catalog.find(name);
      if (!found.model && found.choices.empty() && found.away.empty())
        fail("what a member has isn't unknown", fmt::format("n{} about {} of n{}", at, name, *number));
    }
  }
}

// A second, slow reading of what a name may mean: of all members that are known, those that are away or have just
// started too.
void World::check_names(unsigned at, const Catalog& catalog, const std::vector<KnownNode>& all) {
  for (char c = 'a'; c < 'g'; ++c) {
    const std::string name(1, c);
    std::set<Sha256> meant;
    bool here = false;
    for (const auto& known : all) {
      const auto number = number_of(known.id);
      // What a liar said before may have been taken back by what it says now. And who was thrown out says nothing, not
      // even to itself.
      const bool lasts = number && !nodes_[*number].liar && known.reach != Reach::own;
      if (!known.node_state && !lasts) continue;
      const auto& names = nodes_[at].names[known.id];
      const auto found = names.find(name);
      if (found == names.end()) continue;
      here = here || known.reach == Reach::own;
      if (found->second) meant.insert(*found->second);
    }
    const auto found = catalog.find(name);
    check_hashed_names(at, catalog, found);
    if (here && (!found.model || !found.model->is_here()))
      fail("the local file has its name", fmt::format("n{}: {}", at, name));
    if (here || meant.size() < 2) continue;
    ++outcome_.conflicts;
    if (found.model) fail("a name that means two contents chooses none", fmt::format("n{}: {}", at, name));
  }
}

// Each of the names that are offered in place of one that means several contents means one, and that one.
void World::check_hashed_names(unsigned at, const Catalog& catalog, const Catalog::Found& found) {
  for (const auto& choice : found.choices) {
    const auto one = catalog.find(choice);
    const auto digits = choice.substr(choice.rfind('@') + 1);
    const bool fits = one.model ? to_hex(one.model->content.bytes).starts_with(digits) : !one.away.empty();
    if (!fits || !choice.contains('@')) fail("name@hash8 means one content", fmt::format("n{}: {}", at, choice));
  }
}

void World::check_choice(unsigned at, const Op& op) {
  if (!nodes_[at].process || nodes_[at].paused) return;
  const auto catalog = catalog_of(at);
  const auto found = catalog->find(std::string(1, static_cast<char>('a' + op.choice % 6)));
  if (!found.model) return;
  ++outcome_.choices;
  ChoiceQuery query;
  query.own_too = op.choice % 3 == 0;
  const unsigned other = op.other % setting_.nodes;
  if (nodes_[other].key) query.excluded.emplace(id_of(other), "it failed");
  const auto choice = choose(*catalog, *found.model, query);
  if (!choice.node) {
    if (!choice.shortage || choice.shortage->text.empty()) fail("who can't be served is told why", found.model->name);
    return;
  }
  const auto* node = catalog->node(*choice.node);
  if (!node || !is_routable(node->reach)) return fail("a request goes where one gets to", found.model->name);
  if (query.excluded.contains(*choice.node)) fail("a request doesn't go where it failed", found.model->name);
  if (node->reach == Reach::own && !query.own_too) fail("a request for others goes to others", found.model->name);
  const auto has_it = std::ranges::any_of(found.model->copies, [&](const auto& copy) { return copy.node == node; });
  if (!has_it) fail("a request goes where its model is", found.model->name);
}

bool World::agree(std::string& why) const {
  std::optional<std::string> view;
  for (unsigned at = 0; at < nodes_.size(); ++at) {
    const auto& node = nodes_[at];
    if (!node.process || node.revoked) continue;
    auto& gossip = *node.process->gossip;
    for (const auto& known : gossip.known()) {
      const auto number = number_of(known.id);
      if (!number || nodes_[*number].revoked || !nodes_[*number].process) {
        if (!is_routable(known.reach)) continue;
        why = fmt::format("n{} reaches {}, who is gone", at, short_text(known.id));
        return false;
      }
      if (*number != at && known.reach != Reach::linked) {
        why = fmt::format("n{} has no link to n{}", at, *number);
        return false;
      }
      if (!nodes_[*number].liar && (!known.node_state || known.node_state->version != nodes_[*number].tag)) {
        why = fmt::format("n{} knows {} of n{}, who said {}", at,
                          known.node_state ? known.node_state->version : "nothing", *number, nodes_[*number].tag);
        return false;
      }
    }
    for (const auto& peer : node.process->peers->view()) {
      const auto number = number_of(peer.id);
      if (!setting_.links || !number || peer.state != PeerState::up) continue;
      const auto minor = nodes_[*number].speaks_later ? kLaterMinor : kProtocolMinor;
      if (peer.minor == minor) continue;
      why = fmt::format("n{} takes n{} for version {}", at, *number, peer.minor);
      return false;
    }
    auto honest = gossip.known();
    std::erase_if(honest, [&](const auto& known) {
      const auto number = number_of(known.id);
      return number && nodes_[*number].liar;
    });
    auto now = shared_view(*make_catalog(std::move(honest)));
    if (view && *view != now) {
      why = fmt::format("n{} sees\n{}\nothers\n{}", at, now, *view);
      return false;
    }
    view = std::move(now);
  }
  return true;
}

}  // namespace corral::mesh::simulation
