#include "async/loop.h"

#include <boost/asio/impl/src.hpp>
#include <boost/asio/post.hpp>

namespace corral::async {

// Concurrency hint 1: one thread runs the loop, so its queue needs no contention handling.
Loop::Loop() : context_(1), keep_alive_(context_.get_executor()) {}

// restart() comes after run(), so that an earlier stop() isn't lost.
void Loop::run() {
  context_.run();
  context_.restart();
}

void Loop::drain() {
  keep_alive_.reset();
  context_.run();
  context_.restart();
  keep_alive_.emplace(context_.get_executor());
}

void Loop::stop() { context_.stop(); }

void Loop::post(std::move_only_function<void()> work) { asio::post(context_, std::move(work)); }

LoopPool::LoopPool(std::size_t count) {
  for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) loops_.push_back(std::make_unique<Loop>());
}

LoopPool::~LoopPool() { stop(); }

void LoopPool::run() {
  for (std::size_t i = 1; i < loops_.size(); ++i) {
    threads_.emplace_back([loop = loops_[i].get()] { loop->run(); });
  }
  home().run();
  threads_.clear();
}

void LoopPool::stop() {
  for (auto& loop : loops_) loop->stop();
}

}  // namespace corral::async
