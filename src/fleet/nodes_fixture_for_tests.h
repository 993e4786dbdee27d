// Nodes as the server has them, for tests: real networks on loopback, real folders, each on a thread of its own.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "fleet/node.h"
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
    nodes_.push_back(std::make_unique<Node>(timers_, std::move(options)));
    return *nodes_.back();
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
  // Polls, as the views of nodes are made on other threads.
  static bool until(const std::function<bool()>& done) {
    const auto limit = MonoClock::now() + std::chrono::seconds(20);
    while (!done() && MonoClock::now() < limit) std::this_thread::yield();
    return done();
  }

  mesh::TestFolder folder_;
  async::SystemTimers timers_;
  async::Loop loop_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace corral::fleet
