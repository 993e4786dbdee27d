// Models with a state per sequence, from which single tokens can't be taken back (a partial llama_memory_seq_rm is
// refused): mamba has nothing else, jamba is a hybrid, one block of mamba and one of attention.
#pragma once

#include <cstdint>
#include <string>

#include "model.h"
#include "vocabulary.h"

namespace corral::test_models {

Model make_mamba(const std::string& name, const std::string& title, const Vocabulary& vocabulary, std::uint64_t seed);
Model make_jamba(const std::string& name, const std::string& title, const Vocabulary& vocabulary, std::uint64_t seed);

}  // namespace corral::test_models
