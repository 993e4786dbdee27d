#include "simulation/mesh/wrapped.h"

namespace corral::mesh::simulation {
namespace {

using async::Task;
using StreamResult = Result<std::unique_ptr<Stream>>;

class WrappedNetwork final : public Network {
 public:
  WrappedNetwork(std::unique_ptr<Network> inner, WrapStream wrap) : inner_(std::move(inner)), wrap_(std::move(wrap)) {}

  Task<StreamResult> dial(Place place, std::vector<NodeId> pins, Purpose purpose) override {
    return dressed(inner_->dial(std::move(place), std::move(pins), purpose), wrap_);
  }
  Task<StreamResult> accept() override { return dressed(inner_->accept(), wrap_); }

 private:
  static Task<StreamResult> dressed(Task<StreamResult> making, WrapStream wrap) {
    auto stream = co_await std::move(making);
    if (stream && (*stream)->purpose() == Purpose::control) co_return wrap(std::move(*stream));
    co_return stream;
  }
  const std::unique_ptr<Network> inner_;
  const WrapStream wrap_;
};

}  // namespace

std::unique_ptr<Network> wrapped(std::unique_ptr<Network> network, WrapStream wrap) {
  return std::make_unique<WrappedNetwork>(std::move(network), std::move(wrap));
}

}  // namespace corral::mesh::simulation
