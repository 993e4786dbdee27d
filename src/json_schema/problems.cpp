#include "json_schema/problems.h"

#include <string_view>

#include <fmt/format.h>

#include "base/utf8.h"

namespace corral::json_schema {
namespace {

constexpr std::size_t kMaxPointer = 120;

std::string shortened(std::string_view pointer) {
  if (pointer.size() <= kMaxPointer) return std::string(pointer);
  const auto begin = pointer.substr(0, kMaxPointer);
  return std::string(begin.substr(0, complete_utf8_length(begin))) + "...";
}

std::string reason_of(const Unenforced& keyword) {
  return keyword.reason.empty() ? std::string() : fmt::format(" ({})", keyword.reason);
}

}  // namespace

std::string describe(const SchemaFault& fault, const std::string& field) {
  return fmt::format("'{}' can't be used: the part at {} {}", field, shortened(fault.pointer), fault.reason);
}

std::string describe_refused(const Unenforced& keyword, const std::string& field) {
  return fmt::format("'{}' has \"{}\" at {}, which can't be enforced{}: leave it out, or leave out 'strict'", field,
                     keyword.keyword, shortened(keyword.pointer), reason_of(keyword));
}

std::string describe_ignored(const Unenforced& keyword, const std::string& field) {
  return fmt::format("'{}': \"{}\" at {} isn't enforced{}", field, keyword.keyword, shortened(keyword.pointer),
                     reason_of(keyword));
}

}  // namespace corral::json_schema
