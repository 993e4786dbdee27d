// The mesh for readers of events: its state is part of their snapshots, and each change is an event.
#pragma once

#include <functional>

#include "base/mutex.h"
#include "fleet/view/mesh_view.h"
#include "router/core/event_source.h"

namespace corral::fleet {

class MeshEventSource final : public router::EventSource {
 public:
  // The callback may run on any loop.
  explicit MeshEventSource(std::function<void(router::NoticePtr)> publish);

  // Sets the newest view; called on the loop of the mesh.
  void changed(MeshViewPtr view);
  router::NoticePtr state() const override;

 private:
  const std::function<void(router::NoticePtr)> publish_;
  mutable Mutex mutex_;
  MeshViewPtr view_ GUARDED_BY(mutex_);  // never nullptr
};

}  // namespace corral::fleet
