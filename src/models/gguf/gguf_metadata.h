// The metadata of a GGUF header: key-value pairs and the limits that hold for them. Values are plain; parse_metadata
// blocks on its cursor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "models/gguf/byte_source.h"

namespace corral::models {

namespace gguf_limits {
inline constexpr std::uint64_t kPairs = 65'536;
inline constexpr std::uint64_t kTensors = 1'000'000;
inline constexpr std::uint64_t kKeyLength = 65'535;               // the format's own limit
inline constexpr std::uint64_t kTensorNameLength = 1'024;         // llama.cpp stops at 63
inline constexpr std::uint64_t kArrayElements = 1ULL << 30;       // as llama.cpp
inline constexpr std::uint64_t kKeptText = 1ULL << 20;            // longer texts are remembered by their length only
inline constexpr std::uint64_t kKeptIntegers = 1'024;             // longer arrays by their count only
inline constexpr std::uint64_t kKeptTotal = 16ULL * 1024 * 1024;  // keys and values of one header in memory
}  // namespace gguf_limits

// The types of values, with the numbers that stand in files.
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

// An array: what it holds and how many. The numbers themselves are kept for short arrays of integers or booleans.
struct GgufArray {
  GgufType element = GgufType::u8;
  std::uint64_t count = 0;
  std::vector<std::int64_t> integers;
  std::uint8_t gap_marks = 0;  // of the tokens' texts (gap_tokens.h)
};

// A text too long to keep.
struct GgufLongText {
  std::uint64_t length = 0;
};

using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, GgufLongText, GgufArray>;

// The key-value pairs. The getters give nothing when the key is absent or holds another kind of value.
class GgufMetadata {
 public:
  const GgufValue* find(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  // Integers of every width, when not negative.
  std::optional<std::uint64_t> integer(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  const GgufArray* array(std::string_view key) const;

  std::size_t size() const { return pairs_.size(); }
  const std::map<std::string, GgufValue, std::less<>>& pairs() const { return pairs_; }
  // False when the key is there already.
  bool insert(std::string key, GgufValue value);

 private:
  std::map<std::string, GgufValue, std::less<>> pairs_;
};

// Reads that many pairs; the cursor then stands behind the last one. errc::truncated, malformed, unreadable.
Result<GgufMetadata> parse_metadata(ByteCursor& cursor, std::uint64_t pairs);

}  // namespace corral::models
