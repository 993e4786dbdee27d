// Internals of RouterGroupProcesses: the state of one engine and of one worker.
#pragma once

#include "fleet/hosting/router_group_processes.h"

namespace corral::fleet {

// Receiver of reports. Orders of a previous receiver are not reported.
struct RouterGroupProcesses::Ear {
  async::Executor mesh;
  GroupReports* reports;  // used on that loop only
};

struct RouterGroupProcesses::Engine {
  Engine(async::Executor home, EngineOrder made, std::shared_ptr<Ear> from)
      : order(std::move(made)), ear(std::move(from)), done(home), tasks(home) {}

  const EngineOrder order;
  const std::shared_ptr<Ear> ear;
  std::shared_ptr<backends::Backend> backend;  // set when its load begins
  bool up = false;
  bool asked = false;   // its end is ordered
  bool drains = false;  // it drains before it ends
  bool over = false;    // its end is reported
  async::Event done;
  async::TaskGroup tasks;  // its work
};

struct RouterGroupProcesses::Worker {
  Worker(async::Executor home, WorkerOrder made, std::shared_ptr<Ear> from)
      : order(std::move(made)), ear(std::move(from)), done(home), tasks(home) {}

  const WorkerOrder order;
  const std::shared_ptr<Ear> ear;
  WorkerBackend made;  // set when its load begins
  bool reaping = false;
  bool recalled = false;  // the recall is reported
  bool over = false;      // its failure is reported
  std::string ended_for;  // why RouterGroupProcesses has ended it without an order
  async::Event done;
  async::TaskGroup tasks;  // its work
};

}  // namespace corral::fleet
