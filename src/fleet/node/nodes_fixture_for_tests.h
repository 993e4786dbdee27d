// Nodes as in the server, for tests: real networks on loopback, real folders, each on a thread of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/mutex.h"
#include "fleet/node/member_runtime.h"
#include "fleet/node/node.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {

class NodesFixture : public testing::Test {
 protected:
  NodesFixture() { log::set_level(log::Level::none); }
  ~NodesFixture() override {
    for (auto& node : nodes_) wait(node->stop());
    log::set_level(log::Level::info);
  }

  Node& make(NodeOptions options) {
    auto& node = *nodes_.emplace_back(std::make_unique<Node>(timers_, std::move(options)));
    node.on_change([this](const MeshViewPtr&) {
      const MutexLock lock(views_mutex_);
      ++views_;
      view_came_.notify_all();
    });
    return node;
  }
  Node& launch(NodeOptions options) {
    auto& node = make(std::move(options));
    node.start();
    return node;
  }
  void end(Node& node) {
    wait(node.stop());
    std::erase_if(nodes_, [&](const auto& held) { return held.get() == &node; });
  }
  template <typename T>
  T wait(async::Task<T> task) {
    return async::run_blocking(loop_, std::move(task));
  }
  // Checks again with each new view of a node. The limit only ends a failed test, before ctest ends it.
  bool until(const std::function<bool()>& done) {
    const auto limit = MonoClock::now() + std::chrono::seconds(100);
    for (std::uint64_t seen = 0; MonoClock::now() < limit;) {
      {
        const MutexLock lock(views_mutex_);
        seen = views_;
      }
      if (done()) return true;
      MutexLock lock(views_mutex_);
      view_came_.wait_until(lock, limit, [&]() REQUIRES(views_mutex_) { return views_ != seen; });
    }
    return done();
  }

  Mutex views_mutex_;
  Condition view_came_;
  std::uint64_t views_ GUARDED_BY(views_mutex_) = 0;  // of all nodes so far
  mesh::TestFolder folder_;
  async::SystemTimers timers_;
  async::Loop loop_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace corral::fleet
