// A reranker whose weights are written by hand: BERT's blocks count the words that occur twice in "[CLS] query [SEP]
// document", so that a document that shares rare words with the query gets a high score. It reads no meaning, but its
// order is what a person expects.
//
// How: a position has a random code, a token has another. In the first block a token attends to all tokens of its own
// kind and takes their mean position away from its own: zero if there is no other. The feed-forward part turns what is
// left into one signal, unless the token is a frequent word. In the second block [CLS] takes the signal's mean over all
// tokens, and the classifier makes it a score between -5 and 5.
#pragma once

#include <cstdint>
#include <string>

#include "encoder.h"

namespace corral::test_models {

// `shape` gives type and context; width, heads and blocks are the design's own.
Model make_reranker(const std::string& name, const std::string& title, const EncoderShape& shape,
                    const Vocabulary& vocabulary, std::uint64_t seed);

}  // namespace corral::test_models
