// Expected failures are values: Result<T> is a T or an Error. Each folder has its own `errc` enum, wrapped in a
// std::error_code, so that callers check the cause and never parse a text. One table in protocol/ maps causes to HTTP
// statuses. Unexpected failures (bugs, out of memory) are exceptions.
#pragma once

#include <any>
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace corral {

// The kind of a failure, common to all folders. protocol/ maps kinds to HTTP statuses.
enum class ErrorKind {
  internal,         // a bug or a broken dependency
  invalid_request,  // the request can never succeed unchanged
  unauthorized,
  forbidden,
  not_found,
  conflict,       // conflicts with another state
  too_large,      // more bytes than allowed
  unprocessable,  // valid, but impossible on this machine
  rate_limited,
  unavailable,  // try again later
  upstream,     // a backend failed or died
  timeout,
  cancelled,
};

// The kind of a cause, from the table of its folder; `internal` for causes without a table.
ErrorKind kind_of(const std::error_code& code);

// Required and available memory of one device, in bytes ("cpu", "cuda0", ...).
struct MemoryNeed {
  std::string device;
  std::uint64_t need = 0;
  std::uint64_t have = 0;
};

struct Error {
  std::error_code code;                             // the cause
  std::string message;                              // one sentence for people: the problem, the value, the remedy
  std::string param;                                // the invalid request field, if any
  std::optional<std::chrono::seconds> retry_after;  // when a retry makes sense, if ever
  std::vector<MemoryNeed> memory;                   // for causes of too little memory
  std::any facts;                                   // see fact()

  Error(std::error_code cause, std::string text) : code(cause), message(std::move(text)) {}
  Error(std::error_code cause, std::string text, std::string field)
      : code(cause), message(std::move(text)), param(std::move(field)) {}

  // Further facts about a cause, in a type that its folder declares next to its errc (engine::ContextFull). nullptr: no
  // facts of this type.
  template <typename Fact>
  const Fact* fact() const {
    return std::any_cast<Fact>(&facts);
  }
};

template <typename T = void>
using Result = std::expected<T, Error>;

// return fail(errc::not_found, "no model 'x'");
template <typename Code, typename... Args>
std::unexpected<Error> fail(Code code, Args&&... args) {
  return std::unexpected<Error>(std::in_place, make_error_code(code), std::forward<Args>(args)...);
}

}  // namespace corral

// Declares `errc` of namespace `ns` as an error code of its own category; a table in a .cpp has the names:
//   CORRAL_DECLARE_ERRC(corral::models)  // in the header, at global scope, after the enum
#define CORRAL_DECLARE_ERRC(ns)                                                                            \
  namespace ns {                                                                                           \
  const std::error_category& error_category();                                                             \
  inline std::error_code make_error_code(errc code) { return {static_cast<int>(code), error_category()}; } \
  }                                                                                                        \
  template <>                                                                                              \
  struct std::is_error_code_enum<ns::errc> : std::true_type {}
