#include "fleet/requests/peer_request_handler.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/mutex.h"
#include "dialects/error_filter.h"
#include "fleet/base/errors.h"
#include "protocol/client_tag.h"
#include "protocol/errors.h"
#include "residency/errors.h"
#include "router/base/errors.h"

namespace corral::fleet {
namespace {

constexpr std::size_t kLongestTag = 64;
constexpr std::chrono::seconds kLoadPause{15};  // 4 a minute

const protocol::AskRow* row_of(std::string_view path) {
  const auto table = protocol::ask_table();
  const auto found = std::ranges::find(table, path, &protocol::AskRow::path);
  return found == table.end() ? nullptr : &*found;
}

// Converts the forwarder's failure to the peer's form.
std::optional<PeerFailure> failure_of(const Error& error) {
  const auto* failure = error.fact<router::ForwardFailure>();
  if (failure == nullptr) return std::nullopt;
  if (failure->ending) return PeerFailure{.process = failure->ending->number, .requests = failure->ending->requests};
  // Every node would reject such a request.
  switch (kind_of(error.code)) {
    case ErrorKind::invalid_request:
    case ErrorKind::forbidden:
    case ErrorKind::too_large:
    case ErrorKind::cancelled:
      return std::nullopt;
    default:
      return PeerFailure{.unbegun = failure->unbegun};
  }
}

std::string framed(const Error& error) {
  const auto failure = failure_of(error);
  return (failure ? comment_of(*failure) : std::string()) + protocol::sse_error_event(error);
}

http::Response not_begun_answer(const Error& error, bool not_here = false) {
  auto response = dialects::error_response(error);
  if (not_here) response.head.status = kNotHere;
  write(response.head.headers, PeerFailure{.unbegun = true});
  return response;
}

// The response to a request that the forwarder has given up.
http::Response failed(const Error& error) {
  auto response = dialects::error_response(error);
  if (const auto failure = failure_of(error)) write(response.head.headers, *failure);
  return response;
}

http::Response not_here(std::string text) {
  return not_begun_answer(Error(make_error_code(residency::errc::not_loaded), std::move(text)), true);
}

Error busy(std::string text, std::chrono::seconds pause) {
  Error error(make_error_code(errc::peer_busy), std::move(text));
  error.retry_after = pause;
  return error;
}

}  // namespace

struct PeerRequestHandler::InboundRequests {
  struct OfNode {
    std::size_t requests = 0;
    std::multiset<ModelName> loads;  // loads that its requests wait for
  };
  Mutex mutex;
  std::map<mesh::NodeId, OfNode> nodes GUARDED_BY(mutex);
};

// One request of a peer while it is here: counted, and listed in heartbeats.
class PeerRequestHandler::InboundRequest {
 public:
  InboundRequest(PeerRequestHandler& handler, const mesh::NodeId& node, mesh::InFlightId held)
      : inbound_(handler.inbound_), transport_(handler.transport_), node_(node), held_(held) {
    transport_.hold(node, held);
  }
  ~InboundRequest() {
    transport_.release(node_, held_);
    const MutexLock lock(inbound_->mutex);
    const auto inbound = inbound_->nodes.find(node_);
    if (load_) inbound->second.loads.erase(inbound->second.loads.find(*load_));
    if (--inbound->second.requests == 0) inbound_->nodes.erase(inbound);
  }
  InboundRequest(const InboundRequest&) = delete;
  InboundRequest& operator=(const InboundRequest&) = delete;

  // A place for one more request; nullptr: the node has its maximum.
  static std::shared_ptr<InboundRequest> begin(PeerRequestHandler& handler, const mesh::NodeId& node,
                                               mesh::InFlightId held) {
    {
      const MutexLock lock(handler.inbound_->mutex);
      auto& inbound = handler.inbound_->nodes[node];
      if (inbound.requests >= handler.options_.max_requests) return nullptr;
      ++inbound.requests;
    }
    return std::make_shared<InboundRequest>(handler, node, held);
  }
  // Whether the request may wait for a load: one that a request of its node waits for already, or a new one within the
  // limit. On the loop of the mesh, so that of two concurrent requests the second sees the result of the first.
  bool may_wait_for(const ModelName& model, const std::function<bool()>& take) {
    const MutexLock lock(inbound_->mutex);
    auto& loads = inbound_->nodes[node_].loads;
    if (!loads.contains(model) && !take()) return false;
    load_ = model;
    loads.insert(model);
    return true;
  }

 private:
  const std::shared_ptr<InboundRequests> inbound_;
  PeerTransport& transport_;
  const mesh::NodeId node_;
  const mesh::InFlightId held_;
  std::optional<ModelName> load_;
};

namespace {

// A streamed response keeps its place.
class InboundBody final : public http::BodySource {
 public:
  InboundBody(std::unique_ptr<http::BodySource> answer, std::shared_ptr<void> counted)
      : counted_(std::move(counted)), answer_(std::move(answer)) {}
  async::Task<Result<std::string_view>> read() override { return answer_->read(); }
  std::string_view take_ready() override { return answer_->take_ready(); }
  void abort() override { answer_->abort(); }
  std::optional<std::uint64_t> length() const override { return answer_->length(); }

 private:
  const std::shared_ptr<void> counted_;
  const std::unique_ptr<http::BodySource> answer_;
};

}  // namespace

PeerRequestHandler::PeerRequestHandler(router::LeaseProvider& local, async::Executor home,
                                       const LocalModels& local_models, const SplitTable& splits,
                                       PeerTransport& transport, async::Timers& timers, PeerRequestLimits options)
    : local_(local),
      home_(home),
      local_models_(local_models),
      splits_(splits),
      transport_(transport),
      options_(options),
      inbound_(std::make_shared<InboundRequests>()),
      forwarder_(local, timers) {}

PeerRequestHandler::~PeerRequestHandler() = default;

async::Task<http::Response> PeerRequestHandler::handle(http::Request request) {
  const auto node = mesh::parse_node_id(request.peer);
  const auto* row = row_of(request.head.path());
  if (!node || row == nullptr) co_return dialects::path_error(request, 404);
  if (request.head.method != "POST") co_return dialects::path_error(request, 405);
  auto info = read_request_info(request.head.headers);
  if (!info) co_return dialects::error_response(info.error());
  const auto counted = InboundRequest::begin(*this, *node, info->held);
  if (!counted) {
    auto text = fmt::format("your node has {} requests here already, the maximum for one node", options_.max_requests);
    co_return not_begun_answer(busy(std::move(text), std::chrono::seconds(1)));
  }
  auto model = local_models_.find(info->model);
  if (!model) co_return not_here(fmt::format("'{}' isn't on the disk of this node", info->model));
  const auto content = local_models_.content_of(**model);
  if (!info->content.empty() && !content.empty() && content != info->content)
    co_return not_here(fmt::format("'{}' is another model at this node", info->model));
  if (row->type && (*model)->type != *row->type)
    co_return not_here(fmt::format("'{}' is a model of type {} at this node", info->model, name_of((*model)->type)));
  auto serving = serve(std::move(request), *row, std::move(*info), std::move(*model), counted);
  auto response = co_await std::move(serving);
  if (response.body.streaming())
    response.body = http::Body(std::make_unique<InboundBody>(response.body.take_source(), counted));
  co_return response;
}

async::Task<http::Response> PeerRequestHandler::serve(http::Request request, const protocol::AskRow& row,
                                                      PeerRequestInfo info, models::Catalog::Model model,
                                                      std::shared_ptr<InboundRequest> counted) {
  const auto node = *mesh::parse_node_id(request.peer);
  auto tag = std::string(request.head.headers.get(protocol::kClientTag));
  if (tag.size() > kLongestTag) tag.resize(kLongestTag);
  const auto about = model;
  router::ForwardRequest forward{.model = std::move(model),
                                 .ask = row.ask,
                                 .stream = info.stream,
                                 .id = request.id,
                                 .ping_interval = info.ping_interval,
                                 .context = {info.context, false},
                                 .requester = {.peer = router::NodeRef(request.peer), .waits = info.waits},
                                 .owner = router::OwnerId(request.peer + "/" + tag),
                                 .background = request.head.headers.get(protocol::kPriority) == protocol::kBackground,
                                 .once = true,
                                 .format_error = framed};
  std::string type(request.head.headers.get("Content-Type"));
  if (type.starts_with("application/json")) {
    auto body = co_await request.body.read_all(options_.max_body_bytes);
    if (!body) co_return dialects::error_response(body.error());
    forward.body = std::move(*body);
  } else {
    forward.upload = request.body.take_source();
    forward.stream = false;
    if (!forward.upload) {
      const Error missing(make_error_code(protocol::errc::missing_field), "the request has no body", "body");
      co_return dialects::error_response(missing);
    }
  }
  forward.content_type = std::move(type);
  const auto may = co_await may_load(node, *about, info.context, counted);
  if (!may) co_return not_begun_answer(may.error());
  auto forwarding = forwarder_.forward(std::move(forward));
  auto answer = co_await std::move(forwarding);
  co_return answer ? std::move(*answer) : failed(answer.error());
}

namespace {

async::Task<bool> is_ready(router::LeaseProvider& provider, const models::ModelInfo& model, std::uint64_t context) {
  co_return static_cast<bool>(provider.try_acquire(model, context));
}

}  // namespace

async::Task<Result<>> PeerRequestHandler::may_load(const mesh::NodeId& node, const models::ModelInfo& model,
                                                   std::uint64_t context, std::shared_ptr<InboundRequest> counted) {
  if (const auto status = splits_.find(model); status && status->is_here()) co_return Result<>();
  auto looking = async::run_on(home_, is_ready(local_, model, context));
  const bool ready = co_await std::move(looking);
  if (ready) co_return Result<>();
  auto taking = transport_.take_load(node, [counted = std::move(counted), name = model.name](const auto& take) {
    return counted->may_wait_for(name, take);
  });
  const bool may = co_await std::move(taking);
  if (may) co_return Result<>();
  co_return std::unexpected(
      busy(fmt::format("'{}' is not loaded, and your node has reached its limit of loads per minute here",
                       model.name.value()),
           kLoadPause));
}

}  // namespace corral::fleet
