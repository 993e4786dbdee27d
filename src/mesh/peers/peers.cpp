#include "mesh/peers/peers.h"

namespace corral::mesh {

std::string_view name_of(PeerState state) {
  switch (state) {
    case PeerState::up:
      return "up";
    case PeerState::dialling:
      return "dialling";
    case PeerState::waiting:
      break;
  }
  return "waiting";
}

}  // namespace corral::mesh
