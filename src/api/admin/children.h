// Asks the processes of all models in memory the same thing at the same time.
#pragma once

#include <string>
#include <vector>

#include "api/context.h"

namespace corral::api {

struct ChildAnswer {
  ModelName model;
  std::optional<std::string> text;  // nothing: no good answer in time
};

// GET `path` of each, in the order of their loading. Takes no longer than the slowest answer or `patience`, however
// many hang; loads, wakes and keeps nothing.
async::Task<std::vector<ChildAnswer>> ask_children(Context& context, std::string path, Millis patience);

// The same of one; nothing: it isn't in memory.
async::Task<std::optional<ChildAnswer>> ask_child(Context& context, ModelName model, std::string path, Millis patience);

}  // namespace corral::api
