// Expected failures are values: Result<T> is a T or an Error. Each folder has its own `errc` enum, wrapped in a
// std::error_code, so that a caller asks for the cause and never parses a text. One table in protocol/ maps causes to
// HTTP statuses. Surprises (bugs, out of memory) are exceptions.
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

// What a failure means to whoever asked, across all folders. protocol/ maps kinds to HTTP statuses.
enum class ErrorKind {
  internal,         // a bug or a broken dependency
  invalid_request,  // the request can never succeed as it is
  unauthorized,
  forbidden,
  not_found,
  conflict,       // the state of something else is in the way
  too_large,      // more bytes than allowed
  unprocessable,  // understood, but can't be done on this machine
  rate_limited,
  unavailable,  // try again later
  upstream,     // a backend failed or died
  timeout,
  cancelled,
};

// The kind of a cause, from the table of its folder; `internal` for causes without a table.
ErrorKind kind_of(const std::error_code& code);

// Memory that was asked for and found on one device, in bytes ("cpu", "cuda0", ...).
struct MemoryNeed {
  std::string device;
  std::uint64_t need = 0;
  std::uint64_t have = 0;
};

struct Error {
  std::error_code code;                             // the cause
  std::string message;                              // one sentence for a person: what, which value, the way out
  std::string param;                                // the request field at fault, if one is
  std::optional<std::chrono::seconds> retry_after;  // when trying again makes sense, if it does
  std::vector<MemoryNeed> memory;                   // for causes of too little memory
  std::any facts;                                   // see fact()

  Error(std::error_code cause, std::string text) : code(cause), message(std::move(text)) {}
  Error(std::error_code cause, std::string text, std::string field)
      : code(cause), message(std::move(text)), param(std::move(field)) {}

  // What a program may want to know of a cause, as the type that the folder of the cause declares beside its errc
  // (engine::ContextFull). nullptr if the error carries none of this type.
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

// Declares `errc` of the current namespace as an error code of its own category; the names stand in a table in a .cpp:
//   CORRAL_DECLARE_ERRC(corral::models, "models")       in the header, at global scope, behind the enum
#define CORRAL_DECLARE_ERRC(ns)                                                                            \
  namespace ns {                                                                                           \
  const std::error_category& error_category();                                                             \
  inline std::error_code make_error_code(errc code) { return {static_cast<int>(code), error_category()}; } \
  }                                                                                                        \
  template <>                                                                                              \
  struct std::is_error_code_enum<ns::errc> : std::true_type {}
