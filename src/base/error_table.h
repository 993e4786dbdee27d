// An error category made from a table: one row per value of the folder's errc (from 1; 0 means no error).
// For .cpp files that define error_category() of a folder.
#pragma once

#include <span>
#include <string>
#include <system_error>

#include "base/error.h"

namespace corral {

struct ErrorRow {
  const char* name;  // the public code in API answers, e.g. "model_not_found"
  ErrorKind kind;
};

class TableCategory final : public std::error_category {
 public:
  constexpr TableCategory(const char* name, std::span<const ErrorRow> rows) : name_(name), rows_(rows) {}

  const char* name() const noexcept override { return name_; }
  std::string message(int value) const override { return known(value) ? row(value).name : "unknown"; }
  ErrorKind kind(int value) const { return known(value) ? row(value).kind : ErrorKind::internal; }

 private:
  bool known(int value) const { return value > 0 && static_cast<std::size_t>(value) <= rows_.size(); }
  const ErrorRow& row(int value) const { return rows_[static_cast<std::size_t>(value) - 1]; }

  const char* name_;
  std::span<const ErrorRow> rows_;
};

}  // namespace corral
