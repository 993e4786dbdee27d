#include "mesh/peers/dial/reverse_dials.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kMaxRequests = 32;  // that wait

}  // namespace

std::shared_ptr<ExpectedStream> ReverseDials::expect(std::uint64_t number) {
  return expected_[number] = std::make_shared<ExpectedStream>(executor_);
}

void ReverseDials::arrived(std::uint64_t number, std::unique_ptr<Stream> stream) {
  const auto found = expected_.find(number);
  if (found == expected_.end() || found->second->stream) return;
  found->second->stream = std::move(stream);
  found->second->arrived.raise();
}

void ReverseDials::give_up() {
  for (const auto& [number, expected] : expected_) {
    expected->given_up = true;
    expected->arrived.raise();
  }
}

void ReverseDials::add(const ReverseDialRequest& request) {
  if (requests_.size() < kMaxRequests) requests_.push_back(request);
}

std::optional<ReverseDialRequest> ReverseDials::next() {
  if (requests_.empty()) return std::nullopt;
  const auto request = requests_.front();
  requests_.pop_front();
  return request;
}

}  // namespace corral::mesh
