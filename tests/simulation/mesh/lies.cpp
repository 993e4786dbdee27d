// What a member might send that means harm. Its own signature is its own; others' it can't make.
#include "simulation/mesh/world.h"

namespace corral::mesh::simulation {
namespace {

Frame heads_of(const Head& head) {
  Frame frame{FrameKind::heads, {}};
  encode(head, frame.payload);
  return frame;
}

}  // namespace

void World::send_from(unsigned number, const Frame& frame) {
  for (unsigned other = 0; other < nodes_.size(); ++other) {
    if (other != number && nodes_[other].key) nodes_[number].process->peers->send(id_of(other), frame);
  }
}

void World::lie(unsigned number, unsigned about, std::uint8_t choice) {
  auto& node = nodes_[number];
  if (!node.process || node.paused || setting_.real_keys) return;
  auto& gossip = *node.process->gossip;
  const auto* own = gossip.store().find(id_of(number));
  const auto* other = gossip.store().find(id_of(about));
  if (!own) return;
  const auto signed_heads = [&](Head head) {
    node.liar = true;
    head.author = node.key->public_key();
    head.boot = own->head.boot;
    sign_cheaply(head);
    return heads_of(head);
  };
  switch (choice % 10) {
    case 0:  // a replay
      if (!old_.empty()) send_from(number, heads_of(old_[choice / 8 % old_.size()].head));
      break;
    case 1:  // in the name of another
      if (other) {
        auto head = other->head;
        head.seq += choice;
        send_from(number, heads_of(head));
      }
      break;
    case 2:  // the entries of another as its own
      if (other) {
        auto head = other->head;
        head.seq = own->head.seq + 1;
        send_from(number, signed_heads(head));
      }
      break;
    case 3:  // two things at once
      for (std::uint8_t version = 0; version < 2; ++version) {
        auto head = own->head;
        head.seq += 3;
        head.more = std::string(1 + version, 'x');
        const auto frame = signed_heads(head);
        const auto to = (number + 1 + version) % nodes_.size();
        if (nodes_[to].key) node.process->peers->send(id_of(static_cast<unsigned>(to)), frame);
      }
      break;
    case 4:  // pages that never come
      if (choice % 3 == 0) {
        auto head = own->head;
        head.seq += 2;
        head.pages.assign(21, {kLargestNodeStatePage, sha256({node.tag})});
        send_from(number, signed_heads(head));
      }
      break;
    case 5:  // a flood
      for (std::uint64_t i = 0; i < 40; ++i) {
        auto head = own->head;
        head.seq += 10 + i;
        send_from(number, signed_heads(head));
      }
      break;
    case 6:  // pages that nobody asked for
      if (other) {
        Frame frame{FrameKind::pages, std::string(as_text(other->head.author.bytes))};
        ByteWriter(frame.payload).sized<std::uint32_t>("rubbish");
        send_from(number, frame);
      }
      break;
    case 7:  // questions without end
      if (other && !other->head.pages.empty()) {
        Frame frame{FrameKind::ask_pages, std::string(as_text(other->head.author.bytes))};
        for (int i = 0; i < 200; ++i) ByteWriter(frame.payload).raw(other->head.pages.front().hash);
        send_from(number, frame);
      }
      break;
    case 8:  // a life that its victim hasn't had
      if (other) {
        auto head = other->head;
        head.boot.epoch += 1'000;
        send_from(number, heads_of(head));
      }
      break;
    default: {  // rubbish
      const auto kind = static_cast<FrameKind>(9 + choice % 3);
      send_from(number, {kind, std::string(choice * 3, static_cast<char>(choice))});
      break;
    }
  }
}

}  // namespace corral::mesh::simulation
