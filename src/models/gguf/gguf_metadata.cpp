#include "models/gguf/gguf_metadata.h"

#include <array>
#include <concepts>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "models/errors.h"
#include "models/gguf/gap_tokens.h"
#include "models/text.h"

namespace corral::models {
namespace {

constexpr std::uint64_t kPairOverhead = 96;  // what one pair costs in memory beside its texts, roughly

// Bytes of one value by GgufType; 0 for those without a fixed size.
constexpr std::array<std::uint32_t, 13> kSizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr bool is_known(std::uint32_t type) { return type < kSizes.size(); }
constexpr std::uint32_t size_of(GgufType type) { return kSizes[static_cast<std::uint32_t>(type)]; }

std::unexpected<Error> malformed(std::string what) { return fail(errc::malformed, std::move(what)); }

// Calls `use` with a zero of the C++ type that stands behind a type of fixed size, so that one generic lambda serves
// all.
template <typename Use>
decltype(auto) with_type(GgufType type, Use&& use) {
  switch (type) {
    case GgufType::u8:
      return use(std::uint8_t{});
    case GgufType::i8:
      return use(std::int8_t{});
    case GgufType::u16:
      return use(std::uint16_t{});
    case GgufType::i16:
      return use(std::int16_t{});
    case GgufType::u32:
      return use(std::uint32_t{});
    case GgufType::i32:
      return use(std::int32_t{});
    case GgufType::f32:
      return use(float{});
    case GgufType::u64:
      return use(std::uint64_t{});
    case GgufType::i64:
      return use(std::int64_t{});
    case GgufType::f64:
      return use(double{});
    default:
      return use(bool{});
  }
}

// Reads the metadata; keeps count of the memory that the kept values take.
class MetadataParser {
 public:
  explicit MetadataParser(ByteCursor& cursor) : cursor_(cursor) {}

  Result<GgufMetadata> parse(std::uint64_t pairs) {
    GgufMetadata metadata;
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const auto key_length = cursor_.read<std::uint64_t>();
      if (cursor_.ok() && (key_length == 0 || key_length > gguf_limits::kKeyLength)) {
        return malformed(fmt::format("key {} is {} bytes long", i, key_length));
      }
      std::string key = cursor_.text(key_length);
      const auto type = cursor_.read<std::uint32_t>();
      if (!cursor_.ok()) return std::unexpected(cursor_.error());
      kept_ += key.size() + kPairOverhead;
      if (kept_ > gguf_limits::kKeptTotal) return malformed("the metadata is too big");
      if (!is_known(type)) return malformed(fmt::format("key '{}' has unknown type {}", printable(key), type));
      Result<GgufValue> value = parse_value(key, static_cast<GgufType>(type));
      if (!value) {
        value.error().message = fmt::format("key '{}': {}", printable(key), value.error().message);
        return std::unexpected(std::move(value).error());
      }
      std::string shown = printable(key);
      if (!metadata.insert(std::move(key), *std::move(value))) {
        return malformed(fmt::format("key '{}' is duplicated", shown));
      }
    }
    return metadata;
  }

 private:
  Result<GgufValue> parse_value(std::string_view key, GgufType type) {
    if (type == GgufType::text) return parse_text();
    if (type == GgufType::array) return parse_array(key);
    GgufValue value = with_type(type, [this](auto zero) { return scalar(zero); });
    if (!cursor_.ok()) return std::unexpected(cursor_.error());
    return value;
  }

  template <typename T>
  GgufValue scalar(T) {
    if constexpr (std::same_as<T, bool>) {
      return cursor_.read<std::uint8_t>() != 0;
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(cursor_.read<T>());
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<std::uint64_t>(cursor_.read<T>());
    } else {
      return static_cast<std::int64_t>(cursor_.read<T>());
    }
  }

  Result<GgufValue> parse_text() {
    const auto length = cursor_.read<std::uint64_t>();
    GgufValue value;
    if (length > gguf_limits::kKeptText || kept_ + length > gguf_limits::kKeptTotal) {
      cursor_.skip(length);
      value = GgufLongText{length};
    } else {
      value = cursor_.text(length);
      kept_ += length;
    }
    if (!cursor_.ok()) return std::unexpected(cursor_.error());
    return value;
  }

  Result<GgufValue> parse_array(std::string_view key) {
    const auto element = cursor_.read<std::uint32_t>();
    const auto count = cursor_.read<std::uint64_t>();
    if (!cursor_.ok()) return std::unexpected(cursor_.error());
    if (!is_known(element)) return malformed(fmt::format("an array of unknown type {}", element));
    const auto type = static_cast<GgufType>(element);
    if (type == GgufType::array) return malformed("arrays of arrays are not supported");
    if (count > gguf_limits::kArrayElements) return malformed(fmt::format("an array of {} elements", count));

    GgufArray array{.element = type, .count = count, .integers = {}};
    const std::uint64_t size = size_of(type);
    if (type == GgufType::text) {
      key == "tokenizer.ggml.tokens" ? look_at_tokens(array) : skip_texts(count);
    } else if (keeps(type, count)) {
      array.integers.reserve(count);
      with_type(type, [&](auto zero) { read_integers(array, zero); });
      kept_ += count * sizeof(std::int64_t);
    } else {
      cursor_.skip(count * size);  // at most 2^33: the count is bounded above
    }
    if (!cursor_.ok()) return std::unexpected(cursor_.error());
    return array;
  }

  bool keeps(GgufType type, std::uint64_t count) const {
    if (type == GgufType::f32 || type == GgufType::f64) return false;
    if (count * size_of(type) > cursor_.remaining()) return false;  // don't reserve for what isn't there
    return count <= gguf_limits::kKeptIntegers && kept_ + count * sizeof(std::int64_t) <= gguf_limits::kKeptTotal;
  }

  template <typename T>
  void read_integers(GgufArray& array, T) {
    if constexpr (!std::floating_point<T>) {
      using Stored = std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>;
      for (std::uint64_t i = 0; i < array.count; ++i) {
        array.integers.push_back(static_cast<std::int64_t>(cursor_.read<Stored>()));
      }
    }
  }

  // The hot loop: 300,000 texts for a vocabulary of 152,000 tokens and its merges.
  void skip_texts(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count && cursor_.ok(); ++i) cursor_.skip(cursor_.read<std::uint64_t>());
  }

  void look_at_tokens(GgufArray& array) {
    for (std::uint64_t i = 0; i < array.count && cursor_.ok(); ++i) {
      const auto length = cursor_.read<std::uint64_t>();
      const bool fits = length >= kShortestGapToken && length <= kLongestGapToken;
      if (fits) {
        array.gap_marks |= gap_mark(cursor_.text(length));
      } else {
        cursor_.skip(length);
      }
    }
  }

  ByteCursor& cursor_;
  std::uint64_t kept_ = 0;
};

}  // namespace

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = pairs_.find(key);
  return found == pairs_.end() ? nullptr : &found->second;
}

std::optional<std::string_view> GgufMetadata::text(std::string_view key) const {
  const auto* value = find(key);
  if (const auto* text = value ? std::get_if<std::string>(value) : nullptr) return *text;
  return std::nullopt;
}

std::optional<std::uint64_t> GgufMetadata::integer(std::string_view key) const {
  const auto* value = find(key);
  if (!value) return std::nullopt;
  if (const auto* number = std::get_if<std::uint64_t>(value)) return *number;
  const auto* number = std::get_if<std::int64_t>(value);
  if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  return std::nullopt;
}

std::optional<bool> GgufMetadata::flag(std::string_view key) const {
  const auto* value = find(key);
  if (const auto* flag = value ? std::get_if<bool>(value) : nullptr) return *flag;
  return std::nullopt;
}

const GgufArray* GgufMetadata::array(std::string_view key) const {
  const auto* value = find(key);
  return value ? std::get_if<GgufArray>(value) : nullptr;
}

bool GgufMetadata::insert(std::string key, GgufValue value) {
  return pairs_.try_emplace(std::move(key), std::move(value)).second;
}

Result<GgufMetadata> parse_metadata(ByteCursor& cursor, std::uint64_t pairs) {
  return MetadataParser(cursor).parse(pairs);
}

}  // namespace corral::models
