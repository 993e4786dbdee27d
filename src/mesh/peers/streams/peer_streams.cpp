#include "mesh/peers/streams/peer_streams.h"

#include <algorithm>

namespace corral::mesh {
namespace {

using SlotsOf = std::map<Purpose, std::shared_ptr<Slots>>;

std::shared_ptr<Slots> find(const SlotsOf& all, Purpose purpose) {
  const auto found = all.find(purpose);
  return found == all.end() ? nullptr : found->second;
}

std::size_t used(const SlotsOf& all) {
  std::size_t sum = 0;
  for (const auto& [purpose, slots] : all) sum += slots->used;
  return sum;
}

}  // namespace

PeerStreams::PeerStreams(async::Executor executor) {
  for (auto* slots : {&to_, &from_}) {
    (*slots)[Purpose::http] = std::make_shared<Slots>(executor, kMaxHttp);
    (*slots)[Purpose::copy] = std::make_shared<Slots>(executor, kMaxCopies);
    (*slots)[Purpose::rpc] = std::make_shared<Slots>(executor, kMaxRpc);
  }
}

std::shared_ptr<Slots> PeerStreams::to(Purpose purpose) const { return find(to_, purpose); }
std::shared_ptr<Slots> PeerStreams::from(Purpose purpose) const { return find(from_, purpose); }
std::size_t PeerStreams::in_use_to() const { return used(to_); }
std::size_t PeerStreams::in_use_from() const { return used(from_); }

BodyPtr PeerStreams::track(std::unique_ptr<Stream> stream, Purpose purpose) {
  auto body = std::make_shared<StreamBody>(std::move(stream), purpose, bytes_);
  std::erase_if(all_, [](const auto& weak) { return weak.expired(); });
  all_.push_back(body);
  return body;
}

void PeerStreams::close_all() {
  spares_.clear();
  for (const auto& weak : std::exchange(all_, {})) {
    if (const auto body = weak.lock()) body->inner->close();
  }
}

BodyPtr PeerStreams::take_spare() {
  while (!spares_.empty()) {
    auto body = std::move(spares_.back());
    spares_.pop_back();
    if (body->inner->is_quiet()) return body;
  }
  return nullptr;
}

void PeerStreams::add_spare(std::unique_ptr<Stream> stream) {
  spares_.push_front(track(std::move(stream), Purpose::http));
}

void PeerStreams::drop_ended_spares() {
  std::erase_if(spares_, [](const BodyPtr& body) { return !body->inner->is_quiet(); });
}

}  // namespace corral::mesh
