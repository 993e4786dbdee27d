// Objects of this room: keys, and the files that requests may name.
#pragma once

#include <cstdint>

#include "api/access/file_gate.h"
#include "api/access/key_places.h"
#include "api/access/key_store.h"
#include "base/clock.h"

namespace corral::api {

struct AccessContext {
  const Clock& clock;
  KeyStore* keys = nullptr;  // null: keys can't be listed or changed over HTTP
  FileGate* gate = nullptr;  // null: requests may name any file
  // Running requests of a key, unless the key has its own limit; 0: no limit.
  std::uint32_t max_in_flight_per_key = 0;
  KeyPlaces places{clock};
};

}  // namespace corral::api
