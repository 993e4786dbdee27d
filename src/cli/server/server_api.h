// The interface of commands to the server: calls that block until the answer or Ctrl-C. Tests use a scripted
// implementation.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace corral::cli {

// With one file.
struct Form {
  std::vector<std::pair<std::string, std::string>> fields = {};
  std::string file_field = {};
  std::filesystem::path file = {};
};

struct ApiRequest {
  std::string method;
  std::string path;               // "/api/v1/models"
  std::string body;               // JSON, or empty
  Millis limit{0};                // for the whole answer; 0: none, since the user can press Ctrl-C
  std::optional<Form> form = {};  // instead of a body

  static ApiRequest get(std::string path) { return {"GET", std::move(path), {}}; }
  static ApiRequest post(std::string path, std::string body) { return {"POST", std::move(path), std::move(body)}; }
};

struct ApiReply {
  unsigned status = 0;
  std::string body;
};

// Name ("" if it has none) and data of one server-sent event.
using EventSink = std::function<void(std::string_view event, std::string_view data)>;
// A part of a body. False: the rest isn't wanted.
using ByteSink = std::function<bool(std::string_view bytes)>;

// Errors of all calls: no_server, interrupted, no_answer (after the limit), bad_answer (ended too early). An error
// status is a reply, not an error.
class ServerApi {
 public:
  virtual ~ServerApi() = default;
  // For messages: "http://127.0.0.1:8000".
  virtual std::string url() const = 0;
  virtual Result<ApiReply> call(const ApiRequest& request) = 0;
  // Passes events to `sink` as they arrive. A reply without events (errors have none) is returned with its body.
  virtual Result<ApiReply> stream(const ApiRequest& request, const EventSink& sink) = 0;
  // Passes the body of a successful answer to `sink` as it arrives, whatever its type and length. The body of an error
  // is returned.
  virtual Result<ApiReply> receive(const ApiRequest& request, const ByteSink& sink) = 0;
  // Sends all at once; the answers are in the same order. The first request without an answer ends the others.
  virtual Result<std::vector<ApiReply>> call_together(std::span<const ApiRequest> requests) = 0;
  // Returns after that time. Errors: interrupted, also by a Ctrl-C that came before.
  virtual Result<> pause(Millis time) = 0;
};

// The error of a reply with a status from 400 on, as request_failed.
Error refusal(const ServerApi& api, const ApiReply& reply);
// The body of a successful answer. Adds request_failed, with the server's message, for statuses from 400 on.
Result<std::string> fetch(ServerApi& api, const ApiRequest& request);

}  // namespace corral::cli
