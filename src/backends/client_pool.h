// One HTTP client per loop for one endpoint: clients belong to their loop, backends serve all of them.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "http/client.h"

namespace corral::backends {

class ClientPool {
 public:
  explicit ClientPool(http::Endpoint endpoint, http::ClientOptions options = {})
      : endpoint_(std::move(endpoint)), options_(options) {}

  // On any loop; the client is for `executor`'s loop.
  http::Client& on(async::Executor executor) {
    const std::scoped_lock lock(mutex_);  // held for a search in a handful of entries
    for (auto& [loop, client] : clients_) {
      if (loop == &executor.context()) return *client;
    }
    return *clients_.emplace_back(&executor.context(), std::make_unique<http::Client>(executor, endpoint_, options_))
                .second;
  }

 private:
  const http::Endpoint endpoint_;
  const http::ClientOptions options_;
  std::mutex mutex_;
  std::vector<std::pair<void*, std::unique_ptr<http::Client>>> clients_;
};

}  // namespace corral::backends
