#include "fleet/view/mesh_event_source.h"

#include "fleet/view/mesh_changes.h"

namespace corral::fleet {
namespace {

constexpr std::string_view kName = "mesh";

// Empty members are left out.
void write_if(json::Writer& out, std::string_view name, const std::string& text) {
  if (!text.empty()) out.field(name, text);
}

class ChangeNotice final : public router::Notice {
 public:
  explicit ChangeNotice(MeshChange change) : change_(std::move(change)) {}
  std::string_view name() const override { return kName; }
  void write(json::Writer& out) const override {
    out.field("change", name_of(change_.kind));
    write_if(out, "node", change_.node);
    write_if(out, "model", change_.model);
    using Kind = MeshChange::Kind;
    const bool has_status = change_.kind != Kind::admitted && change_.kind != Kind::removed &&
                            change_.kind != Kind::reachable && change_.kind != Kind::away;
    if (has_status) {
      out.key("from");
      change_.from.empty() ? out.null() : out.value(change_.from);
      out.key("status");
      change_.to.empty() ? out.null() : out.value(change_.to);
    }
    write_if(out, "cause", change_.cause);
  }

 private:
  const MeshChange change_;
};

class StateNotice final : public router::Notice {
 public:
  explicit StateNotice(MeshViewPtr view) : view_(std::move(view)) {}
  std::string_view name() const override { return kName; }
  void write(json::Writer& out) const override {
    out.field("status", fleet::name_of(view_->phase)).key("nodes").begin_array();
    for (const auto& node : view_->nodes) {
      out.begin_object().field("name", node.name).field("self", node.reach == mesh::Reach::own);
      out.field("routable", mesh::is_routable(node.reach)).end_object();
    }
    out.end_array();
  }

 private:
  const MeshViewPtr view_;
};

}  // namespace

MeshEventSource::MeshEventSource(std::function<void(router::NoticePtr)> publish)
    : publish_(std::move(publish)), view_(std::make_shared<const MeshView>()) {}

void MeshEventSource::changed(MeshViewPtr view) {
  MeshViewPtr before;
  {
    const MutexLock lock(mutex_);
    before = std::exchange(view_, view);
  }
  for (auto& change : changes_between(*before, *view)) publish_(std::make_shared<ChangeNotice>(std::move(change)));
}

router::NoticePtr MeshEventSource::state() const {
  const MutexLock lock(mutex_);
  return std::make_shared<StateNotice>(view_);
}

}  // namespace corral::fleet
