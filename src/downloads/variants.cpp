#include "downloads/variants.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "backends/context_guess.h"
#include "downloads/errors.h"
#include "models/errc.h"
#include "models/model_names.h"
#include "models/projectors.h"

namespace corral::downloads {
namespace {

// How much of a file is asked for until its header is whole: most have one of some MiB, for the vocabulary.
constexpr std::uint64_t kSteps[] = {1 << 20, 4 << 20, 16 << 20, 64 << 20};
constexpr std::size_t kMostHeaders = 4;  // of one repository

// The first bytes of a file that isn't here.
class FrontSource final : public models::ByteSource {
 public:
  FrontSource(const std::string& front, std::uint64_t size) : front_(front), size_(size) {}

  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset >= front_.size()) return 0;
    const auto bytes = std::as_bytes(std::span(front_)).subspan(static_cast<std::size_t>(offset));
    const std::size_t count = std::min(bytes.size(), out.size());
    std::ranges::copy(bytes.first(count), out.begin());
    return count;
  }

 private:
  const std::string& front_;
  const std::uint64_t size_;
};

Result<models::GgufFacts> parse(const std::string& front, const TreeFile& file) {
  auto reader = models::GgufReader::from(std::make_unique<FrontSource>(front, file.size), file.path);
  if (!reader) return std::unexpected(std::move(reader.error()));
  return models::read_facts(*reader);
}

// All quantisations of one model have it in common; they may lie in folders of their own.
std::string family_of(const Variant& variant) {
  std::string stem = std::filesystem::path(variant.files.front().path).stem().native();
  if (const auto shard = models::parse_shard(stem)) stem = std::string(shard->set);
  return models::family_of(stem);
}

std::uint64_t guess_by_size(std::uint64_t bytes) {
  constexpr std::uint64_t kRest = std::uint64_t{256} << 20;
  return bytes + bytes / 10 + kRest;
}

// One header for all quantisations of a model.
class Headers {
 public:
  Headers(Hub& hub, const Listing& listing) : hub_(hub), listing_(listing) {}

  async::Task<std::optional<models::GgufFacts>> of(const Variant& variant) {
    const std::string family = family_of(variant);
    if (const auto known = read_.find(family); known != read_.end()) co_return known->second;
    std::optional<models::GgufFacts> facts;
    if (read_.size() < kMostHeaders) {
      auto read = co_await read_header(hub_, listing_, variant.files.front());
      if (read) facts = std::move(*read);
    }
    read_.emplace(family, facts);
    co_return facts;
  }

 private:
  Hub& hub_;
  const Listing& listing_;
  std::map<std::string, std::optional<models::GgufFacts>> read_;
};

}  // namespace

async::Task<Result<models::GgufFacts>> read_header(Hub& hub, const Listing& listing, TreeFile file) {
  std::string front;
  for (const std::uint64_t step : kSteps) {
    const std::uint64_t end = std::min(step, file.size);
    auto more = co_await hub.read(listing, file, {front.size(), end});
    if (!more) co_return std::unexpected(std::move(more.error()));
    front += *more;
    auto facts = parse(front, file);
    if (facts) co_return facts;
    const bool cut = facts.error().code == models::errc::truncated && front.size() < file.size;
    if (!cut)
      co_return fail(errc::upstream_malformed,
                     fmt::format("'{}' of '{}' is no model: {}", file.path, listing.repo, facts.error().message));
  }
  co_return fail(errc::upstream_malformed, fmt::format("the header of '{}' of '{}' is larger than {} MiB", file.path,
                                                       listing.repo, std::end(kSteps)[-1] >> 20));
}

std::uint64_t memory_of(const Variant& variant, const std::optional<models::GgufFacts>& facts) {
  if (!facts) return guess_by_size(variant.bytes);
  models::ModelInfo model;
  model.type = facts->type;
  model.traits = facts->traits;
  model.size = Bytes(variant.bytes);
  return backends::guessed_memory(model, {});
}

async::Task<Result<Offers>> offers_of(Hub& hub, const Listing& listing, std::uint64_t memory) {
  auto usual = choose(listing.tree, listing.repo, {}, {});
  if (!usual) co_return std::unexpected(std::move(usual.error()));
  Offers offers;
  Headers headers(hub, listing);
  offers.facts = co_await headers.of(*usual);
  for (Variant& variant : variants_of(listing.tree)) {
    auto facts = co_await headers.of(variant);
    const std::uint64_t need = memory_of(variant, facts);
    if (variant.files == usual->files) offers.usual = offers.variants.size();
    offers.variants.push_back({std::move(variant), need, !facts, memory == 0 || need <= memory});
  }
  for (std::size_t i = 0; i < offers.variants.size(); ++i) {
    const VariantOffer& offer = offers.variants[i];
    if (memory == 0 || !offer.fits || family_of(offer.variant) != family_of(*usual)) continue;
    if (!offers.best || offer.variant.bytes > offers.variants[*offers.best].variant.bytes) offers.best = i;
  }
  co_return offers;
}

}  // namespace corral::downloads
