// The bucket of the room `net`, for the bounds of what stands on Peers.
#pragma once

#include "mesh/net/token_bucket.h"
