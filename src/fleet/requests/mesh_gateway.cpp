#include "fleet/requests/mesh_gateway.h"

namespace corral::fleet {
namespace {

constexpr std::size_t kKept = 24;  // connections to a node, of all loops

http::ServerOptions server_options(http::ServerOptions options) {
  options.take_request_ids = true;  // members are trusted with request ids
  options.max_connections_per_address = 0;
  return options;
}

}  // namespace

MeshGateway::MeshGateway(async::Executor mesh, async::LoopPool& loops, async::Timers& timers,
                         router::ModelRouter& router, const LocalModels& local_models, MeshRoutes::Newest newest,
                         MeshGatewayOptions options)
    : routes_(std::move(newest), timers),
      transport_(mesh, [this](UniqueFd end, std::string peer) { server_.adopt(std::move(end), std::move(peer)); }),
      calls_(transport_, timers, routes_, kKept / loops.size()),
      demand_(timers),
      own_splits_(router, splits_, timers),
      provider_(own_splits_, calls_, demand_, splits_, timers),
      for_peers_(router, timers),
      splits_for_peers_(for_peers_, splits_, timers),
      handler_(splits_for_peers_, loops.home().executor(), local_models, splits_, transport_, timers, options.handler),
      server_(loops, handler_, server_options(std::move(options.server))) {}

async::Task<void> MeshGateway::stop() {
  co_await calls_.stop();
  co_await transport_.stop();
}

}  // namespace corral::fleet
