// What there is to choose from in a repository, with what each would take on disk and in memory, before anything of it
// is fetched. The shape of a model stands in the header of its file, whose first bytes a ranged request brings; with
// it, the memory is what the server predicts of a model on its disk of which it has no measurement yet
// (backends/context_guess.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "downloads/choice.h"
#include "downloads/hub.h"
#include "models/gguf_facts.h"

namespace corral::downloads {

struct VariantOffer {
  Variant variant = {};
  std::uint64_t memory = 0;  // bytes, with the context that it begins with
  bool by_size = false;      // the memory is a guess by nothing but the size of its files
  bool fits = true;          // into the memory that it was compared with
};

struct Offers {
  std::vector<VariantOffer> variants = {};
  std::size_t usual = 0;                        // the one that the repository's name alone means
  std::optional<std::size_t> best = {};         // of the same model the largest that fits, if any does
  std::optional<models::GgufFacts> facts = {};  // of the usual one; nothing where its header can't be read
};

// `memory`: bytes of the device that it would be loaded on, altogether; 0: not known, then everything fits. Asks for
// some MiB of headers at most. Errors: file_not_found where there is no model; a header that can't be had is none.
async::Task<Result<Offers>> offers_of(Hub& hub, const Listing& listing, std::uint64_t memory);

// What the file says of itself. Errors: those of Hub::read, upstream_malformed for what is no GGUF.
async::Task<Result<models::GgufFacts>> read_header(Hub& hub, const Listing& listing, TreeFile file);

// Bytes that a load takes, by the header of the model's file, or of another quantisation of it; by its size without.
std::uint64_t memory_of(const Variant& variant, const std::optional<models::GgufFacts>& facts);

}  // namespace corral::downloads
