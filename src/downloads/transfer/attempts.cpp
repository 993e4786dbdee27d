#include "downloads/transfer/attempts.h"

#include <algorithm>

#include <fmt/format.h>

#include "downloads/errors.h"

namespace corral::downloads {
namespace {

std::string place(const Asked& asked) {
  if (!asked.is_file) return asked.repo.empty() ? asked.what : fmt::format("'{}'", asked.repo);
  if (asked.repo.empty()) return fmt::format("'{}'", asked.what);
  return fmt::format("'{}' of '{}'", asked.what, asked.repo);
}

// Tools of the hub take a token from the environment of a shell, which the server does not see.
constexpr std::string_view kSetToken =
    "put a token into the file $HF_HOME/token (~/.cache/huggingface/token), or set HF_TOKEN for the server process and "
    "restart it";

Error error(errc code, std::string text) { return {make_error_code(code), std::move(text)}; }

std::string token_advice(bool with_token) {
  return with_token ? "the token has no access" : fmt::format("if it is private, {}", kSetToken);
}

std::string other_server(const Asked& asked) {
  return asked.endpoint_variable.empty() ? "" : fmt::format(", {} another server", asked.endpoint_variable);
}

bool is_hub(const Asked& asked) { return asked.endpoint_variable == kHubVariable; }

std::string when_again(std::optional<std::chrono::seconds> rest) {
  constexpr std::chrono::seconds kLong{120};
  if (!rest) return "try again later";
  if (*rest <= kLong) return fmt::format("try again in {} s", rest->count());
  return fmt::format("try again in {} min", std::chrono::ceil<std::chrono::minutes>(*rest).count());
}

// The error of a fault without a response.
Error fault_error(const Asked& asked, const Outcome& outcome) {
  const std::string& detail = outcome.detail;
  switch (outcome.fault) {
    case Fault::stalled:
      return error(errc::unreachable, fmt::format("{}: the server stopped sending ({})", place(asked), detail));
    case Fault::no_connect:
      return error(errc::unreachable,
                   fmt::format("{}: no connection to {} ({}). Check the network; HTTPS_PROXY sets a proxy{}",
                               place(asked), asked.endpoint, detail, other_server(asked)));
    case Fault::bad_tls:
      return error(errc::unreachable,
                   fmt::format("{}: the certificate of {} is not trusted ({}). For a proxy that inspects TLS, add its "
                               "certificate to the system's store or to SSL_CERT_FILE",
                               place(asked), asked.endpoint, detail));
    case Fault::too_large:
      return error(errc::upstream_malformed, fmt::format("{}: the response is too large ({})", place(asked), detail));
    case Fault::not_taken:
      return error(errc::disk_failed, fmt::format("{}: {}", place(asked), detail));
    case Fault::none:
    case Fault::broken:
      break;
  }
  return error(errc::unreachable, fmt::format("{}: the connection was lost ({})", place(asked), detail));
}

// A complete response that doesn't match the request; nullopt: it matches.
std::optional<Error> mismatch(const Asked& asked, const Outcome& outcome) {
  if (!asked.range) return std::nullopt;
  if (asked.size && outcome.total && *outcome.total != *asked.size) {
    return error(errc::wrong_content, fmt::format("{}: the server has {} bytes, but the repository lists {}",
                                                  place(asked), *outcome.total, *asked.size));
  }
  if (outcome.status == 206 && (!outcome.got_range || outcome.got_range->begin != asked.range->begin)) {
    return error(errc::upstream_malformed,
                 fmt::format("{}: the server sent another range than requested", place(asked)));
  }
  return std::nullopt;
}

// For the bytes of a file, the hub redirects to a signed URL of another server, which expires.
bool is_signed(const Asked& asked, const Outcome& outcome) { return asked.range && outcome.elsewhere; }
bool has_expired(int status) {
  return status == 400 || status == 401 || status == 403 || status == 404 || status == 410;
}

}  // namespace

std::optional<Error> refusal(const Asked& asked, const Outcome& outcome) {
  const int status = outcome.status;
  const std::string& code = outcome.error_code;
  const bool with_token = outcome.with_token && !outcome.elsewhere;  // other servers don't get it
  if (code == "GatedRepo") {
    return error(errc::gated,
                 fmt::format("you must accept the conditions of '{0}' at {1}/{0}{2}, then {3}", asked.repo,
                             asked.endpoint, with_token ? " with the account of the token" : "", kSetToken));
  }
  if (code == "RevisionNotFound")
    return error(errc::revision_not_found, fmt::format("'{}' has no revision '{}'", asked.repo, asked.revision));
  if (code == "EntryNotFound" && asked.is_file)
    return error(errc::file_not_found,
                 fmt::format("'{}' has no file '{}' at '{}'", asked.repo, asked.what, asked.revision));
  if (code == "RepoNotFound" || (status == 401 && !asked.repo.empty() && !with_token && !is_signed(asked, outcome))) {
    return error(errc::model_not_found, fmt::format("unknown repository '{}' at {}; {}", asked.repo, asked.endpoint,
                                                    token_advice(with_token)));
  }
  if (status == 407)
    return error(errc::token_refused,
                 fmt::format("{}: the proxy requires a password (407): set it in HTTPS_PROXY", place(asked)));
  if (is_signed(asked, outcome) && has_expired(status))
    return error(errc::token_refused, fmt::format("{}: the server to which {} redirects returned status {}: try again "
                                                  "later",
                                                  place(asked), asked.endpoint, status));
  if ((status == 401 || status == 403) && !is_hub(asked) && !with_token)
    return error(errc::token_refused, fmt::format("{}: {} denies access ({}), and corral sends no password to it: "
                                                  "download the file yourself, then run corral import FILE",
                                                  place(asked), asked.endpoint, status));
  if (status == 401)
    return error(errc::token_refused, fmt::format("{}: {} rejected the token (401): create a new one, then {}",
                                                  place(asked), asked.endpoint, kSetToken));
  if (status == 403)
    return error(errc::token_refused,
                 fmt::format("{}: {} denies access (403); {}", place(asked), asked.endpoint, token_advice(with_token)));
  if (status == 404 || status == 410) {
    if (asked.range || asked.repo.empty())
      return error(errc::file_not_found, fmt::format("{} was not found", place(asked)));
    return error(errc::model_not_found, fmt::format("unknown repository '{}' at {}", asked.repo, asked.endpoint));
  }
  if (status >= 400 && status < 500 && status != 408 && status != 416 && status != 425 && status != 429)
    return error(errc::upstream_failed, fmt::format("{}: the server returned status {}", place(asked), status));
  if (status == 304 || (status >= 300 && status < 400))
    return error(errc::upstream_malformed,
                 fmt::format("{}: the redirect has no target (status {})", place(asked), status));
  return std::nullopt;
}

Decision Attempts::decide(const Asked& asked, const Outcome& outcome, std::uint64_t dice) {
  if (outcome.received > 0) in_vain_ = expired_ = 0;
  if (outcome.fault == Fault::not_taken || outcome.fault == Fault::bad_tls || outcome.fault == Fault::too_large)
    return {.step = Step::fail, .error = fault_error(asked, outcome)};
  if (auto refused = refusal(asked, outcome)) {
    const bool may_be_new = outcome.error_code.empty() && is_signed(asked, outcome) && has_expired(outcome.status);
    if (!may_be_new || ++expired_ > rules_.max_expired) return {.step = Step::fail, .error = std::move(refused)};
    // A new request to the hub gives a new URL: there is nothing to wait for, unless the server wants it.
    Decision next = again(asked, outcome, dice, std::move(*refused));
    if (!outcome.retry_after) next.pause = std::min(next.pause, rules_.first_pause);
    return next;
  }

  const bool good = outcome.status == 200 || outcome.status == 206 || outcome.status == 204;
  if (good) {
    if (auto wrong = mismatch(asked, outcome)) return again(asked, outcome, dice, std::move(*wrong));
    const bool all = !asked.range || outcome.received >= asked.range->size();
    if (all && (outcome.fault == Fault::none || asked.range)) return {};
    if (outcome.status == 200 && asked.range && outcome.received == 0) {
      // The first time may be caused by a cache in between; a server that does it twice supports no ranges.
      Decision next =
          again(asked, outcome, dice,
                error(errc::upstream_failed, fmt::format("{}: the server does not support ranges", place(asked))));
      if (next.step == Step::again && ++whole_answers_ >= 2) next.step = Step::one_piece;
      return next;
    }
    return again(asked, outcome, dice,
                 outcome.fault != Fault::none
                     ? fault_error(asked, outcome)
                     : error(errc::unreachable, fmt::format("{}: the response ended too early", place(asked))));
  }
  if (outcome.status == 416 && asked.range) {
    const std::uint64_t size = outcome.total.value_or(asked.size.value_or(0));
    if (asked.range->empty() || (asked.size && outcome.total == asked.size && asked.range->begin >= size)) return {};
    return again(
        asked, outcome, dice,
        error(errc::wrong_content, fmt::format("{}: the server has {} bytes, fewer than listed", place(asked), size)));
  }
  if (outcome.status == 429 || outcome.status == 503) {
    const auto rest = outcome.retry_after.value_or(std::chrono::seconds(0));
    const auto code = outcome.status == 429 ? errc::rate_limited : errc::upstream_failed;
    Error last = error(code, fmt::format("{}: {} {} (status {}): {}{}", place(asked), asked.endpoint,
                                         outcome.status == 429 ? "limits the request rate" : "is too busy",
                                         outcome.status, when_again(outcome.retry_after),
                                         outcome.status == 429 && is_hub(asked) && !outcome.with_token
                                             ? "; with a token (HF_TOKEN) it allows more"
                                             : ""));
    last.retry_after = outcome.retry_after;
    if (rest > rules_.longest_rest) return {.step = Step::fail, .error = std::move(last)};
    return again(asked, outcome, dice, std::move(last));
  }
  if (outcome.status == 0) return again(asked, outcome, dice, fault_error(asked, outcome));
  return again(
      asked, outcome, dice,
      error(errc::upstream_failed, fmt::format("{}: the server returned status {}", place(asked), outcome.status)));
}

Decision Attempts::again(const Asked&, const Outcome& outcome, std::uint64_t dice, Error last) {
  if (++in_vain_ >= rules_.max_tries) {
    if (in_vain_ > 1) last.message += fmt::format("; gave up after {} tries", in_vain_);
    return {.step = Step::fail, .error = std::move(last)};
  }
  // After an attempt with data the pause is short; without data it doubles each time.
  const int doublings = std::min(in_vain_ - 1, 20);
  const auto full = std::min<std::int64_t>(rules_.first_pause.count() << doublings, rules_.longest_pause.count());
  Millis pause(full / 2 + static_cast<std::int64_t>(dice % static_cast<std::uint64_t>(full / 2 + 1)));
  if (outcome.retry_after) pause = std::max<Millis>(pause, std::min(*outcome.retry_after, rules_.longest_rest));
  return {.step = Step::again,
          .pause = pause,
          .fresh_connection = outcome.fault != Fault::none || in_vain_ > 1,
          .error = std::move(last)};
}

}  // namespace corral::downloads
