// One HTTP client per loop for one endpoint: a client belongs to its loop, a backend serves all loops.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/mutex.h"
#include "http/client.h"

namespace corral::backends {

class ClientPool {
 public:
  // `clock` must outlive the clients and their responses.
  ClientPool(const Clock& clock, http::Endpoint endpoint, http::ClientOptions options = {})
      : clock_(clock), endpoint_(std::move(endpoint)), options_(options) {}

  // On any loop; the client is for `executor`'s loop.
  http::Client& on(async::Executor executor) {
    const MutexLock lock(mutex_);  // held for a search in a few entries
    for (auto& [loop, client] : clients_) {
      if (&loop.context() == &executor.context()) return *client;
    }
    return *clients_.emplace_back(executor, std::make_unique<http::Client>(executor, clock_, endpoint_, options_))
                .second;
  }

  // Closes idle connections, each on its loop. From any loop.
  static void close_idle(const std::shared_ptr<ClientPool>& pool) {
    const MutexLock lock(pool->mutex_);
    for (auto& [loop, client] : pool->clients_)
      async::asio::post(loop, [pool, idle = client.get()] { idle->close_idle(); });
  }

 private:
  const Clock& clock_;
  const http::Endpoint endpoint_;
  const http::ClientOptions options_;
  Mutex mutex_;
  std::vector<std::pair<async::Executor, std::unique_ptr<http::Client>>> clients_ GUARDED_BY(mutex_);
};

}  // namespace corral::backends
