#include "simulation/mesh/requests.h"

#include <algorithm>

#include <fmt/format.h>

#include "mesh/catalog/choice.h"
#include "mesh/identity/bytes.h"

namespace corral::mesh::simulation {
namespace {

using async::Task;

constexpr char kNotHere = 'n', kAnswer = 'a', kEnd = 'z';
constexpr std::size_t kAskHead = 8 + 1 + sizeof(Sha256) + 2;
constexpr std::size_t kMaxTries = 16;

// How long a request takes to its first byte, and from there to its end.
Millis first_byte(std::uint64_t id) { return Millis(id % 5 * 400); }
Millis rest(std::uint64_t id) { return Millis(id % 3 * 300); }

void put_hash(std::string& out, const std::optional<Sha256>& hash) {
  ByteWriter(out).number<std::uint8_t>(hash ? 1 : 0).raw(hash.value_or(Sha256{}));
}
std::optional<Sha256> take_hash(ByteReader& in) {
  const bool known = in.number<std::uint8_t>() != 0;
  const auto hash = in.fixed<sizeof(Sha256)>();
  return known ? std::optional(hash) : std::nullopt;
}

// Counted, and told to whom it is for, for as long as it lives.
class Work {
 public:
  Work(Ledger& ledger, Peers& peers, const NodeId& entry, std::uint64_t id)
      : ledger_(ledger), peers_(peers), entry_(entry), id_(id) {
    ++ledger_.working;
    peers_.hold(entry_, id_);
  }
  ~Work() {
    --ledger_.working;
    peers_.release(entry_, id_);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  Ledger& ledger_;
  Peers& peers_;
  const NodeId entry_;
  const std::uint64_t id_;
};

}  // namespace

std::size_t Ledger::open() const {
  return static_cast<std::size_t>(std::ranges::count_if(requests, [](const auto& one) { return !one.second.ended; }));
}

RequestPeer::RequestPeer(Ledger& ledger, Peers& peers, Gossip& gossip, async::Timers& timers, async::Executor executor,
                         const NodeState& truth, const BrokenRequests& broken)
    : ledger_(ledger),
      peers_(peers),
      gossip_(gossip),
      timers_(timers),
      truth_(truth),
      broken_(broken),
      tasks_(executor) {
  peers_.on_stream(Purpose::http,
                   [this](std::unique_ptr<Stream> stream) { tasks_.spawn("serve", serve(*this, std::move(stream))); });
}

RequestPeer::~RequestPeer() = default;

void RequestPeer::close() {
  peers_.on_stream(Purpose::http, {});
  tasks_.cancel();
  // Its clients are gone with it.
  for (const auto id : mine_) ledger_.requests[id].ended = true;
}

const ModelOnDisk* RequestPeer::find(const std::string& name, const std::optional<Sha256>& hash) const {
  const auto found = std::ranges::find(truth_.models, name, &ModelOnDisk::name);
  if (found == truth_.models.end()) return nullptr;
  return broken_.any_content || !hash || found->hash == hash ? &*found : nullptr;
}

void RequestPeer::end(std::uint64_t id, std::uint64_t& counter) {
  auto& request = ledger_.requests[id];
  if (request.ended) ledger_.fail("a request ends once", fmt::format("request {}", id));
  request.ended = true;
  mine_.erase(id);
  ++counter;
}

void RequestPeer::ask(std::uint64_t id, const std::string& name) {
  const auto found = gossip_.catalog()->find(name);
  if (!found.model || found.model->copies.empty()) return;
  ledger_.requests[id].content = found.model->content;
  mine_.insert(id);
  tasks_.spawn("ask", run(*this, id));
}

Task<void> RequestPeer::run(RequestPeer& self, std::uint64_t id) {
  const auto content = self.ledger_.requests[id].content;
  std::map<NodeId, std::string> excluded;
  bool replayed = false;
  for (std::size_t tries = 0; tries < kMaxTries; ++tries) {
    const auto catalog = self.gossip_.catalog();
    const auto models = catalog->models();
    const auto model = std::ranges::find(models, content, &MeshModel::content);
    if (model == models.end()) co_return self.end(id, self.ledger_.refused);
    ChoiceQuery query;
    query.excluded = excluded;
    const auto choice = choose(*catalog, *model, query);
    const auto copy = std::ranges::find_if(
        model->copies, [&](const auto& one) { return choice.node && one.node->id == *choice.node; });
    if (copy == model->copies.end()) co_return self.end(id, self.ledger_.refused);
    const auto node = *choice.node;
    auto asking = ask_one(self, id, node, *copy->model);
    const auto how = co_await std::move(asking);
    excluded.emplace(node, "it failed");
    if (how == End::answered) co_return self.end(id, self.ledger_.answered);
    if (how == End::failed) co_return self.end(id, self.ledger_.failed);
    if (how == End::not_here) ++self.ledger_.not_here;
    if (how != End::broken) continue;
    if (std::exchange(replayed, true) && !self.broken_.replays_on) co_return self.end(id, self.ledger_.failed);
    ++self.ledger_.replayed;
  }
  self.end(id, self.ledger_.refused);
}

Task<RequestPeer::End> RequestPeer::ask_one(RequestPeer& self, std::uint64_t id, NodeId node, ModelOnDisk model) {
  auto opening = self.peers_.open(node, Purpose::http);
  const auto stream = co_await std::move(opening);
  if (!stream) co_return End::unbegun;
  std::string question;
  ByteWriter(question).number<std::uint64_t>(id);
  put_hash(question, model.hash);
  ByteWriter(question).sized<std::uint16_t>(model.name);
  auto writing = (*stream)->write(question);
  const auto written = co_await std::move(writing);
  if (!written) co_return End::broken;
  auto reading = read_answer(self, id, **stream);
  co_return co_await std::move(reading);
}

Task<RequestPeer::End> RequestPeer::read_answer(RequestPeer& self, std::uint64_t id, Stream& stream) {
  const auto kind = co_await read_exactly(stream, 1);
  if (!kind) co_return End::broken;
  if (kind->front() == kNotHere) co_return End::not_here;
  auto& request = self.ledger_.requests[id];
  request.answering = true;
  const auto answer = co_await read_exactly(stream, 1 + sizeof(Sha256) + 1);
  if (!answer || answer->back() != kEnd) co_return End::failed;
  ByteReader in(*answer);
  const auto hash = take_hash(in);
  if (hash && !request.content.pending && *hash != request.content.bytes)
    self.ledger_.fail("a request is answered by its model", fmt::format("request {}", id));
  co_return End::answered;
}

Task<void> RequestPeer::serve(RequestPeer& self, std::unique_ptr<Stream> stream) {
  const auto head = co_await read_exactly(*stream, kAskHead);
  if (!head) co_return;
  ByteReader in(*head);
  const auto id = in.number<std::uint64_t>();
  const auto wanted = take_hash(in);
  const auto length = in.number<std::uint16_t>();
  const auto name = co_await read_exactly(*stream, length);
  if (!name) co_return;
  const auto* model = self.find(*name, wanted);
  std::string answer(1, model ? kAnswer : kNotHere);
  if (model) {
    auto& request = self.ledger_.requests[id];
    const auto own = self.peers_.own();
    if (request.answering) self.ledger_.fail("what has begun to answer isn't asked again", fmt::format("{}", id));
    if (std::ranges::find(request.begun, own) != request.begun.end())
      self.ledger_.fail("a request doesn't come back to where it failed", fmt::format("request {}", id));
    request.begun.push_back(own);
    if (request.begun.size() > 2) self.ledger_.fail("a request is replayed once", fmt::format("request {}", id));
    put_hash(answer, model->hash);
    const Work work(self.ledger_, self.peers_, stream->peer().id, id);
    const auto before = first_byte(id), behind = rest(id);
    co_await self.timers_.sleep_for(before);
    auto writing = stream->write(answer);
    const auto written = co_await std::move(writing);
    if (!written) co_return;
    co_await self.timers_.sleep_for(behind);
    answer.assign(1, kEnd);
    auto ending = stream->write(answer);
    co_await std::move(ending);
  } else {
    auto writing = stream->write(answer);
    co_await std::move(writing);
  }
  co_await stream->finish();
  // It is closed once the entry has read it.
  char end;
  co_await stream->read_some({&end, 1});
}

}  // namespace corral::mesh::simulation
