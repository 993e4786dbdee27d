// For tests: a say in what libllama computes. libllama has all its passes computed by one function of ggml; the test
// program has a function of the same name in front of it (decode_status_test.cpp), so everything around it is real: the
// return code of llama_decode, what it rolls back, what the engine makes of both.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include <ggml-backend.h>

#include "engine/values/types.h"

namespace corral::engine::test {

// While it lives, `hook` is asked before anything is computed: for each pass, or for each part of one that libllama
// computes in parts, with the tokens in it. What it gives is the outcome instead; nothing: it is computed. It runs on
// the computing thread, with those of several workers one after another; unless for `all`, never on the thread that
// makes it, which has references to compute. One of them at a time.
class ComputeHook {
 public:
  using Hook = std::function<std::optional<ggml_status>(std::span<const Token> tokens)>;
  enum class Threads { others, all };
  explicit ComputeHook(Hook hook, Threads threads = Threads::others);
  ~ComputeHook();
  ComputeHook(const ComputeHook&) = delete;
  ComputeHook& operator=(const ComputeHook&) = delete;
};

}  // namespace corral::engine::test
