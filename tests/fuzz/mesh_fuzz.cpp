// What nodes read of each other and of people. The first byte says which reader gets the rest.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mesh/link/join_frames.h"
#include "mesh/link/link.h"
#include "mesh/link/member_exchange.h"
#include "mesh/members/token.h"
#include "mesh/peers/peer_file.h"
#include "mesh/peers/whereabouts.h"

namespace {

using namespace corral::mesh;

void must(bool holds) {
  if (!holds) std::abort();
}

void read_payload(const Frame& frame) {
  must(frame.payload.size() <= most_bytes(frame.kind));
  switch (frame.kind) {
    case FrameKind::hello:
      (void)decode_hello(frame.payload);
      break;
    case FrameKind::heartbeat: {
      const auto beat = decode_heartbeat(frame.payload);
      must(!beat || decode_heartbeat(encode(*beat)) == *beat);
      break;
    }
    case FrameKind::close:
      must(decode_closing(frame.payload).by_peer);
      break;
    case FrameKind::members:
      (void)PageCollector().take(frame.payload);
      break;
    case FrameKind::join_ask:
      (void)read_ask(frame.payload);
      break;
    case FrameKind::join_admitted:
      (void)read_founding(frame.payload);
      break;
    case FrameKind::join_refused:
      (void)read_refusal(frame.payload);
      break;
    case FrameKind::whereabouts: {
      const auto told = decode_whereabouts(frame.payload);
      must(!told || decode_whereabouts(encode(*told)).has_value());
      break;
    }
    case FrameKind::dial_me:
      (void)decode_dial_me(frame.payload);
      break;
    case FrameKind::join_proved:
    case FrameKind::heads:
    case FrameKind::pages:
    case FrameKind::ask_pages:
      break;
  }
}

void read_frames(std::string_view bytes) {
  FrameReader reader;
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, 1 + bytes.size() / 2);
    bytes.remove_prefix(part.size());
    if (!reader.put(part)) return;
    while (reader.has_frame()) read_payload(reader.take());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 0: {
      const auto token = parse_token(rest);
      must(!token || *parse_token(to_text(*token)) == *token);
      break;
    }
    case 1: {
      const auto set = decode_members(rest);
      must(!set || encode(*set).size() <= rest.size());
      break;
    }
    case 2:
      (void)PageCollector().take(rest);
      break;
    case 3:
      read_frames(rest);
      break;
    case 4: {
      const auto address = parse_address(rest);
      must(!address || *parse_address(to_text(*address)) == *address);
      break;
    }
    case 5: {
      const auto peers = decode_peers(rest);
      must(!peers || encode(*peers).size() <= rest.size());
      break;
    }
    case 6:
      (void)decode_relay_word(rest);
      break;
    default:
      break;
  }
  return 0;
}
