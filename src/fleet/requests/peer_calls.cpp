#include "fleet/requests/peer_calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "fleet/base/errors.h"

namespace corral::fleet {
namespace {

constexpr Millis kLook{500};  // the heartbeat interval

void add(std::map<mesh::NodeId, std::string>& nodes, const std::vector<router::NodeRef>& refs, const char* why) {
  for (const auto& ref : refs)
    if (const auto node = mesh::parse_node_id(ref.value())) nodes.emplace(*node, why);
}

// While connections are being opened, a request may not have reached the peer, so no call to it counts as lost.
async::Task<Result<UniqueFd>> connect(PeerTransport& transport, mesh::NodeId node,
                                      std::shared_ptr<std::atomic<std::uint32_t>> opening) {
  struct Mark {
    explicit Mark(std::atomic<std::uint32_t>& of) : count(of) { ++count; }
    ~Mark() { --count; }
    std::atomic<std::uint32_t>& count;
  };
  const Mark mark(*opening);
  auto connecting = transport.connect(node);
  co_return co_await std::move(connecting);
}

}  // namespace

void PeerCall::end(router::UpstreamExit ending) {
  if (ending_) return;
  ending_ = std::move(ending);
  gone_.set();
}

PeerCalls::PeerCalls(PeerTransport& transport, async::Timers& timers, NodeSelector& selector, std::size_t kept)
    : transport_(transport), timers_(timers), selector_(selector), kept_(kept), tasks_(transport.executor()) {
  transport_.on_reach([this] { forget_gone(); });
}

async::Task<Result<std::shared_ptr<PeerCall>>> PeerCalls::begin(backends::ModelPtr model, router::LeaseRequest request,
                                                                async::Executor executor) {
  if (!transport_.attached()) co_return fail(errc::nowhere, "this node is in no mesh");
  auto beginning = async::run_on(transport_.executor(), begin_here(std::move(model), std::move(request), executor));
  co_return co_await std::move(beginning);
}

async::Task<Result<std::shared_ptr<PeerCall>>> PeerCalls::begin_here(backends::ModelPtr model,
                                                                     router::LeaseRequest request,
                                                                     async::Executor executor) {
  std::map<mesh::NodeId, std::string> avoid;
  add(avoid, request.nodes.avoid, "it refused this request");
  add(avoid, request.nodes.absent, "it does not have the model now");
  auto others = avoid;
  add(others, request.nodes.ended, "it failed with this request");
  auto chosen = selector_.choose({*model, request.nodes.conversation, others, busy_});
  // Its engine starts again, or its group does; RequestAttempts limits how often.
  if (!chosen && others.size() > avoid.size())
    chosen = selector_.choose({*model, request.nodes.conversation, avoid, busy_});
  if (!chosen) co_return std::unexpected(chosen.error());
  const auto node = chosen->node;
  const auto held = ++last_held_;
  auto on_drop = [mesh = transport_.executor(), weak = std::weak_ptr(self_), held] {
    async::asio::post(mesh, [weak, held] {
      if (const auto self = weak.lock()) (*self)->dropped(held);
    });
  };
  auto call = std::make_shared<PeerCall>(std::move(*chosen), held, executor, clients_of(node), std::move(on_drop));
  ++busy_[node];
  calls_.emplace(held, Entry{call, node, LostRequestDetector(timers_.now())});
  if (!std::exchange(watching_, true)) tasks_.spawn("requests at peers", watch());
  co_return call;
}

std::shared_ptr<backends::ClientPool> PeerCalls::clients_of(const mesh::NodeId& node) {
  auto& way = ways_[node];
  if (!way.clients) {
    auto open = [&transport = transport_, node, opening = way.opening] { return connect(transport, node, opening); };
    http::OpenedEndpoint endpoint{"node " + mesh::short_text(node), std::move(open)};
    way.clients = std::make_shared<backends::ClientPool>(
        timers_, std::move(endpoint), http::ClientOptions{.max_idle_connections = kept_, .ask_before_upload = true});
  }
  return way.clients;
}

// Closes connections to unreachable nodes. Otherwise only the next request to them would notice.
void PeerCalls::forget_gone() {
  const auto* peers = transport_.peers();
  std::erase_if(ways_, [&](auto& entry) {
    const auto& [node, way] = entry;
    if (peers != nullptr && peers->is_up(node)) return false;
    if (way.clients) backends::ClientPool::close_idle(way.clients);
    return !busy_.contains(node) && way.opening->load() == 0;
  });
}

void PeerCalls::dropped(mesh::InFlightId held) {
  const auto found = calls_.find(held);
  if (found == calls_.end()) return;
  const auto node = busy_.find(found->second.node);
  if (--node->second == 0) busy_.erase(node);
  calls_.erase(found);
}

async::Task<void> PeerCalls::watch() {
  while (!calls_.empty()) {
    co_await timers_.sleep_for(kLook);
    const auto now = timers_.now();
    std::map<mesh::NodeId, std::vector<mesh::InFlightId>> lists;  // one list per peer
    for (auto& [held, entry] : calls_) {
      const auto call = entry.call.lock();
      const auto* peers = transport_.peers();
      if (!call || peers == nullptr) continue;
      const auto last_heartbeat = peers->last_heartbeat(entry.node);
      const auto [list, first] = lists.try_emplace(entry.node);
      if (first) list->second = peers->listed_by(entry.node);
      const bool listed = std::ranges::find(list->second, held) != list->second.end();
      const bool waits = call->waits_.load(std::memory_order_relaxed) && ways_[entry.node].opening->load() == 0;
      if (!entry.rule.lost(now, last_heartbeat, listed, waits, call->pieces_.load(std::memory_order_relaxed))) continue;
      router::UpstreamExit ending{.how = fmt::format("{} no longer works on the request", call->to().node_name),
                                  .number = held | 1ull << 63};
      async::asio::post(call->executor(), [call, ending = std::move(ending)]() mutable {
        if (call->ending()) return;
        call->end(std::move(ending));
        if (call->answer_ != nullptr) call->answer_->abort();
        call->stopper().stop();
      });
    }
  }
  watching_ = false;
}

async::Task<void> PeerCalls::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace corral::fleet
