// Parts of requests. Internal to protocol/.
#pragma once

#include <string>
#include <vector>

#include "json/peek.h"
#include "protocol/requests.h"

namespace corral::protocol {

// One string, or those of an array.
std::vector<std::string> strings(json::View value);
// What a body that was checked says of sampling.
void fill_sampling(Sampling& sampling, json::View body);

}  // namespace corral::protocol
