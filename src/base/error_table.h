// An error category made from a table of texts, indexed by the enum's value (from 1; 0 means no error).
// For .cpp files that define error_category() of a folder.
#pragma once

#include <span>
#include <string>
#include <system_error>

namespace corral {

class TableCategory final : public std::error_category {
 public:
  constexpr TableCategory(const char* name, std::span<const char* const> texts) : name_(name), texts_(texts) {}

  const char* name() const noexcept override { return name_; }
  std::string message(int value) const override {
    const bool known = value > 0 && static_cast<std::size_t>(value) <= texts_.size();
    return known ? texts_[static_cast<std::size_t>(value) - 1] : "unknown";
  }

 private:
  const char* name_;
  std::span<const char* const> texts_;
};

}  // namespace corral
