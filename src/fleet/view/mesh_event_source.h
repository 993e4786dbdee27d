// The mesh for readers of events: how it stands is part of their snapshots, and each change of it is an event.
#pragma once

#include <functional>
#include <mutex>

#include "fleet/view/mesh_view.h"
#include "router/core/event_source.h"

namespace corral::fleet {

class MeshEventSource final : public router::EventSource {
 public:
  // `tell` may be called on any loop.
  explicit MeshEventSource(std::function<void(router::NoticePtr)> tell);

  // The newest view; on the loop that makes them.
  void changed(MeshViewPtr view);
  router::NoticePtr state() const override;

 private:
  const std::function<void(router::NoticePtr)> tell_;
  mutable std::mutex mutex_;
  MeshViewPtr view_;  // never nullptr
};

}  // namespace corral::fleet
