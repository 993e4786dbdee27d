#include "simulation/mesh/world.h"

#include <algorithm>

#include <fmt/format.h>

#include "mesh/support_for_tests.h"
#include "simulation/mesh/later.h"

namespace corral::mesh::simulation {
namespace {

constexpr Millis kStep{100};
constexpr Millis kLook{300};
constexpr std::size_t kMaxOld = 64;
constexpr std::uint64_t kMemory = std::uint64_t{16} << 30;

std::string signature_of(const Head& head) {
  std::string bytes;
  encode(head, bytes);
  bytes.resize(bytes.size() - sizeof(Signature));
  const auto hash = sha256({bytes});
  return std::string(as_text(hash));
}

}  // namespace

void sign_cheaply(Head& head) {
  const auto text = signature_of(head);
  std::copy(text.begin(), text.end(), head.signature.bytes.begin());
}

bool is_cheaply_signed(const Head& head) { return as_text(head.signature.bytes).starts_with(signature_of(head)); }

World::World(const Setting& setting, bool with_trace)
    : setting_(setting),
      with_trace_(with_trace),
      dice_(setting.seed),
      mesh_(mesh_id({test_key(9999).public_key(), {}})),
      ground_(setting.links ? make_links(setting.nodes, setting.broken_links) : make_queues(setting.nodes)),
      nodes_(setting.nodes) {
  ledger_.fail = [this](std::string rule, std::string detail) { fail(std::move(rule), std::move(detail)); };
  for (unsigned node = 0; node < setting.nodes; ++node) start(node, 2);
  if (setting.links) {
    for (unsigned node = 0; node < setting.nodes; ++node) change_state(node, static_cast<std::uint8_t>(8 * (node % 3)));
  }
  pass(Millis(1000));
}

World::~World() { stop(); }

void World::stop() {
  for (unsigned node = 0; node < nodes_.size(); ++node) kill(node);
}

void World::note(std::string line) {
  if (!with_trace_) return;
  const auto ms = (ground_->time().now() - MonoTime{} - std::chrono::hours(24)) / Millis(1);
  outcome_.trace.push_back(fmt::format("{:7} {}", ms, line));
}

std::optional<unsigned> World::number_of(const NodeId& id) const {
  for (unsigned node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].key && id_of(node) == id) return node;
  }
  return std::nullopt;
}

// `loss` 1: of the count of lives, 2: of the whole disk.
void World::start(unsigned number, std::uint8_t loss) {
  auto& node = nodes_[number];
  if (node.process || (node.revoked && loss < 2)) return;
  if (loss == 2) {
    node.key = test_key(100 * (++keys_) + number);
    node.truth = {};
    node.revoked = false;
    node.liar = false;
    node.full = false;
  }
  // On a full disk nothing is counted.
  node.epoch = loss == 0 ? node.epoch + (node.full ? 0 : 1) : 1;
  ++node.starts;
  node.changes = 0;
  node.since = node.resumed = ground_->time().now();
  node.paused = false;
  node.newest.clear();
  node.compared.clear();
  node.names.clear();
  node.looks_until = node.since + kLook;
  node.speaks_later = node.later;
  ground_->set_later(number, node.later);
  Boot boot{node.epoch, {}};
  boot.nonce[0] = static_cast<std::uint8_t>(node.starts);
  boot.nonce[1] = static_cast<std::uint8_t>(number);
  auto& process = node.process.emplace();
  process.peers = &ground_->begin(number, *node.key, boot);
  GossipOptions options;
  options.mesh = mesh_;
  options.standing = [this, number](const PublicKey& key) { return ground_->standing(number, key); };
  options.keep_epoch = [this, number](std::uint64_t epoch) {
    if (!nodes_[number].full) nodes_[number].epoch = epoch;
  };
  if (node.later) options.encode = later_pages;
  if (!setting_.real_keys) {
    options.sign = sign_cheaply;
    options.genuine = is_cheaply_signed;
  }
  process.gossip = std::make_unique<Gossip>(*process.peers, ground_->time(), ground_->executor(), *node.key, options);
  process.ear = std::make_unique<Ear>(outcome_);
  process.ear->gossip = process.gossip.get();
  process.ear->strict = setting_.strict_pages;
  process.peers->listen(*process.ear);
  if (setting_.links) {
    process.request_peer =
        std::make_unique<RequestPeer>(ledger_, *process.peers, *process.gossip, ground_->timers(number),
                                      ground_->executor(), node.truth, setting_.broken_requests);
  }
  auto& node_state = node.truth;
  node_state.name = fmt::format("n{}", number);
  if (node_state.memory.empty()) node_state.memory = {{"cpu", false, kMemory, kMemory, 0, kMemory}};
  node_state.disk_free = std::uint64_t{1} << 40;
  node_state.serving.clear();
  announce(number);
  ground_->go(number);
}

void World::kill(unsigned number) {
  auto& node = nodes_[number];
  if (!node.process) return;
  outcome_.accepted += node.process->gossip->counters().accepted;
  outcome_.refused += node.process->gossip->counters().refused;
  if (node.process->request_peer) {
    node.process->request_peer->close();
    ground_->pass(Millis(0));
  }
  node.process->peers->forget(*node.process->ear);
  ground_->end(number);
  node.process.reset();
  node.paused = false;
  node.since = ground_->time().now();
}

void World::announce(unsigned number) {
  auto& node = nodes_[number];
  node.tag = fmt::format("{}:{}:{}", number, node.starts, ++node.changes);
  node.truth.version = node.tag;
  auto state = node.truth;
  if (node.looks_until) {
    state.looking = true;
    state.models.clear();
    state.serving.clear();
  }
  auto node_state = rounded(state);
  node_state.links.clear();
  const auto pages = encode_pages(node_state);
  log_[node.tag] = *decode_pages({pages.begin(), pages.end()});
  node.process->gossip->announce(state);
  const auto* own = node.process->gossip->store().find(id_of(number));
  if (own && dice_.chance(20)) old_.push_back({own->head, own->pages});
  if (old_.size() > kMaxOld) old_.erase(old_.begin());
}

// A process that was just started finds its models after a while.
void World::look(unsigned number) {
  auto& node = nodes_[number];
  if (!node.looks_until || ground_->time().now() < *node.looks_until) return;
  node.looks_until.reset();
  announce(number);
}

void World::ask(unsigned number, const Op& op) {
  auto& node = nodes_[number];
  if (!node.process || !node.process->request_peer || node.paused) return;
  const auto catalog = catalog_of(number);
  const auto models = catalog->models();
  if (!models.empty()) node.process->request_peer->ask(++asked_, models[op.choice % models.size()].name);
}

// `choice` 16 to 31: other files have taken their place.
void World::lose(unsigned number, std::uint8_t choice) {
  auto& models = nodes_[number].truth.models;
  if (models.empty()) return;
  const auto model = models.begin() + static_cast<std::ptrdiff_t>(choice % models.size());
  if (choice / 16 != 1)
    models.erase(model);
  else if (model->hash)
    model->hash = sha256({"another", as_text(*model->hash)});
}

// As the node sees it: what it makes of all that it knows.
std::shared_ptr<const Catalog> World::catalog_of(unsigned number) {
  auto& gossip = *nodes_[number].process->gossip;
  if (!setting_.forgets_names) return gossip.catalog();
  auto nodes = gossip.known();
  std::erase_if(nodes, [](const auto& known) { return !is_routable(known.reach); });
  return make_catalog(std::move(nodes));
}

void World::change_state(unsigned number, std::uint8_t choice) {
  auto& node = nodes_[number];
  if (!node.process || node.paused) return;
  auto& node_state = node.truth;
  const std::string name(1, static_cast<char>('a' + choice % 6));
  const auto found = std::ranges::find(node_state.models, name, &ModelOnDisk::name);
  const bool there = found != node_state.models.end();
  const auto content = std::string(1, static_cast<char>('u' + choice / 6 % 3));
  switch (choice % 8) {
    case 0:
    case 1:
    case 2:
      if (!there) {
        auto& model = node_state.models.emplace_back();
        model.name = name;
        model.bytes = std::uint64_t{1} << (31 + content[0] - 'u' + choice % 3);
        model.may_copy = choice % 2 == 0;
        if (choice % 3 != 0) model.hash = sha256({name == "f" ? "shared" : name, content});
        if (choice % 5 == 0) model.aliases = {"alias"};
      } else if (!found->hash) {
        found->hash = sha256({name, content});
      }
      break;
    case 3:
      if (there) node_state.models.erase(found);
      std::erase_if(node_state.serving, [&](const auto& served) { return served.name == name; });
      break;
    case 4:
    case 5: {
      const auto served = std::ranges::find(node_state.serving, name, &ServedModel::name);
      if (served != node_state.serving.end())
        node_state.serving.erase(served);
      else if (there)
        node_state.serving.push_back({.name = name, .state = static_cast<ServingState>(1 + choice / 8 % 3)});
      break;
    }
    case 6:
      node_state.takes_copies = !node_state.takes_copies;
      node_state.memory.front().free = node_state.memory.front().total / (1 + choice % 4);
      break;
    default:
      if (node_state.wants.empty())
        node_state.wants = {{name, "org/" + name}};
      else
        node_state.wants.clear();
      break;
  }
  announce(number);
}

void World::set_cut(unsigned from, unsigned to, bool cut) {
  if (from == to) return;
  if (cut)
    cuts_.emplace(std::pair(from, to), ground_->time().now());
  else
    cuts_.erase({from, to});
  ground_->set_path(from, to, !cut);
}

// Since when no link of the two can live: the earliest of cuts, deaths and pauses that go on.
std::optional<MonoTime> World::broken_since(unsigned a, unsigned b) const {
  std::optional<MonoTime> since;
  const auto count = [&](MonoTime time) { since = std::min(since.value_or(time), time); };
  for (const auto& path : {std::pair(a, b), std::pair(b, a)}) {
    if (const auto cut = cuts_.find(path); cut != cuts_.end()) count(cut->second);
  }
  for (const auto number : {a, b}) {
    if (!nodes_[number].process) count(nodes_[number].since);
    if (nodes_[number].paused) count(nodes_[number].resumed);
  }
  return since;
}

void World::pass(Millis time) {
  for (Millis gone(0); gone < time && !outcome_.violation; gone += kStep) {
    ground_->pass(kStep);
    for (unsigned number = 0; number < nodes_.size(); ++number) {
      auto& node = nodes_[number];
      if (node.process && !node.paused) look(number);
      if (!node.process || node.paused || !node.process->gossip->busy()) continue;
      ++outcome_.events;
      node.process->gossip->tick();
    }
    ground_->pass(Millis(0));
    check();
  }
}

void World::apply(const Op& op) {
  note(describe(op));
  ++outcome_.events;
  const unsigned a = op.node % setting_.nodes, b = op.other % setting_.nodes;
  auto& node = nodes_[a];
  using Kind = Op::Kind;
  switch (op.kind) {
    case Kind::elapse:
      pass(Millis(op.ms));
      break;
    case Kind::say:
      change_state(a, op.choice);
      break;
    case Kind::choose:
      check_choice(a, op);
      break;
    case Kind::cut:
      set_cut(b, a, true);
      [[fallthrough]];
    case Kind::cut_one_way:
      set_cut(a, b, true);
      break;
    case Kind::isolate:
      for (unsigned other = 0; other < setting_.nodes; ++other) {
        set_cut(a, other, true);
        set_cut(other, a, true);
      }
      break;
    case Kind::heal:
      set_cut(a, b, false);
      set_cut(b, a, false);
      break;
    case Kind::heal_all:
      while (!cuts_.empty()) set_cut(cuts_.begin()->first.first, cuts_.begin()->first.second, false);
      break;
    case Kind::delay:
      if (a != b) ground_->set_delay(a, b, Millis(op.ms));
      break;
    case Kind::kill:
      kill(a);
      break;
    case Kind::start:
      start(a, op.choice);
      break;
    case Kind::pause:
      if (!node.process || node.paused) break;
      node.paused = true;
      node.resumed = ground_->time().now();
      ground_->set_paused(a, true);
      break;
    case Kind::resume:
      if (!node.process || !node.paused) break;
      node.paused = false;
      node.resumed = ground_->time().now();
      ground_->set_paused(a, false);
      break;
    case Kind::glitch:
      if (a != b && node.process && nodes_[b].process) ground_->replace_link(a, b);
      break;
    case Kind::mute:
      if (!node.process) break;
      node.process->ear->mute = op.choice == 1;
      slow_ = slow_ || op.choice == 1;
      break;
    case Kind::lie:
      lie(a, b, op.choice);
      break;
    case Kind::revoke:
      if (a == b || node.revoked || !nodes_[b].process || nodes_[b].paused || nodes_[b].revoked) break;
      node.revoked = ground_->revoke(a, b);
      node.revoked_at = ground_->time().now();
      node.revoked_by = id_of(b);
      break;
    case Kind::ask:
      ask(a, op);
      break;
    case Kind::lose:
      lose(a, op.choice);
      break;
    case Kind::full:
      node.full = setting_.links && op.choice == 1;
      ground_->set_full(a, node.full);
      break;
    case Kind::upgrade:
      node.later = op.choice == 1;
      break;
  }
  ground_->pass(Millis(0));
  check();
}

void World::end_faults() {
  note("all faults end");
  bool lies = slow_;
  for (unsigned number = 0; number < nodes_.size(); ++number) {
    lies = lies || nodes_[number].liar;
    apply({Op::Kind::resume, static_cast<std::uint8_t>(number), 0, 0, 0});
    apply({Op::Kind::mute, static_cast<std::uint8_t>(number), 0, 0, 0});
    apply({Op::Kind::full, static_cast<std::uint8_t>(number), 0, 0, 0});
    apply({Op::Kind::start, static_cast<std::uint8_t>(number), 0, 0, 0});
    for (unsigned other = 0; other < nodes_.size(); ++other) {
      if (other != number) ground_->set_delay(number, other, Millis(0));
    }
  }
  apply({Op::Kind::heal_all, 0, 0, 0, 0});
  // What a liar or a mute node announced may be waited for.
  const Millis limit(lies ? 40'000 : 8'000);
  std::string why;
  for (Millis gone(0); gone < limit && !outcome_.violation; gone += kStep) {
    pass(kStep);
    if (!agree(why)) continue;
    end_requests();
    if (!lies) stay_quiet();
    return;
  }
  if (!outcome_.violation) fail("all agree when the faults stop", why);
}

// Who agrees goes on doing so: nothing flaps.
void World::stay_quiet() {
  constexpr Millis kQuiet{1000};
  if (outcome_.violation) return;
  const auto downs = outcome_.downs;
  pass(kQuiet);
  std::string why;
  if (!outcome_.violation && !agree(why)) fail("who agrees goes on to", why);
  if (outcome_.downs > downs) fail("nothing flaps", fmt::format("{} links went down", outcome_.downs - downs));
}

// Each has come to an end by itself.
void World::end_requests() {
  constexpr Millis kPatience{20'000};
  for (Millis gone(0); gone < kPatience && !outcome_.violation; gone += kStep) {
    if (ledger_.open() == 0 && ledger_.working == 0) return;
    pass(kStep);
  }
  fail("no request is left open", fmt::format("{} asked, {} worked on", ledger_.open(), ledger_.working));
}

void World::count_requests() {
  outcome_.answered = ledger_.answered;
  outcome_.failed = ledger_.failed;
  outcome_.replayed = ledger_.replayed;
  outcome_.not_here = ledger_.not_here;
}

Outcome live(const std::vector<Op>& scenario, const Setting& setting, bool with_trace) {
  World world(setting, with_trace);
  for (const auto& op : scenario) {
    if (world.outcome().violation) break;
    world.apply(op);
  }
  if (!world.outcome().violation) world.end_faults();
  world.stop();
  world.count_requests();
  return world.outcome();
}

}  // namespace corral::mesh::simulation
