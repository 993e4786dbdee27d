// Inside of RouterGroupProcesses: what it keeps of one engine and of one worker.
#pragma once

#include "fleet/hosting/router_group_processes.h"

namespace corral::fleet {

// Who gave the orders. Orders of one that has gone are reported to nobody.
struct RouterGroupProcesses::Ear {
  async::Executor mesh;
  GroupReports* reports;  // touched on that loop only
};

struct RouterGroupProcesses::Engine {
  Engine(async::Executor home, EngineOrder made, std::shared_ptr<Ear> from)
      : order(std::move(made)), ear(std::move(from)), done(home), tasks(home) {}

  const EngineOrder order;
  const std::shared_ptr<Ear> ear;
  std::shared_ptr<backends::Backend> backend;  // once its load is asked for
  bool up = false;
  bool asked = false;   // to end
  bool drains = false;  // and to be drained before
  bool over = false;    // reported
  async::Event done;
  async::TaskGroup tasks;  // its life
};

struct RouterGroupProcesses::Worker {
  Worker(async::Executor home, WorkerOrder made, std::shared_ptr<Ear> from)
      : order(std::move(made)), ear(std::move(from)), done(home), tasks(home) {}

  const WorkerOrder order;
  const std::shared_ptr<Ear> ear;
  WorkerBackend made;  // once its load is asked for
  bool reaping = false;
  bool recalled = false;  // reported
  bool over = false;      // failed, and reported so
  std::string ended_for;  // why this house has ended it by itself
  async::Event done;
  async::TaskGroup tasks;  // its life
};

}  // namespace corral::fleet
