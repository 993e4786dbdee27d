// Raise it whenever a model's bytes change: script/models makes the set again when it meets another version, and
// test_models_test fails when the bytes change and this doesn't.
#pragma once

namespace corral::test_models {

inline constexpr int kGeneratorVersion = 8;

}  // namespace corral::test_models
