// A scripted server, scripted input, and a program around them.
#pragma once

#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/errors.h"
#include "cli/program.h"

namespace corral::cli {

struct Event {
  std::string name;
  std::string data;
};

// What the server does with one request.
struct Scripted {
  unsigned status = 200;
  std::string body{};
  std::vector<Event> events{};           // sent first, to callers that stream
  std::optional<Error> error{};          // then the call ends with this
  std::function<void()> meanwhile = {};  // runs when the request arrives
};

class ScriptedServer {
 public:
  std::string url = "http://127.0.0.1:8000";
  std::map<std::string, std::deque<Scripted>> answers;  // by "GET /path"; the last one stays
  std::vector<ApiRequest> requests;
  std::optional<Address> address;
  int pauses_before_ctrl_c = 0;

  void on(const std::string& what, Scripted answer) { answers[what].push_back(std::move(answer)); }
  void on(const std::string& what, std::string body) { on(what, Scripted{.status = 200, .body = std::move(body)}); }
  // Bodies of the requests of that kind.
  std::vector<std::string> bodies(const std::string& what) const {
    std::vector<std::string> found;
    for (const ApiRequest& request : requests) {
      if (request.method + " " + request.path == what) found.push_back(request.body);
    }
    return found;
  }

  Scripted take(const ApiRequest& request) {
    requests.push_back(request);
    auto found = answers.find(request.method + " " + request.path);
    if (found == answers.end()) return {.status = 404, .body = R"({"error":{"message":"not scripted"}})"};
    Scripted answer = found->second.front();
    if (found->second.size() > 1) found->second.pop_front();
    if (answer.meanwhile) answer.meanwhile();
    return answer;
  }
};

class ScriptedApi final : public ServerApi {
 public:
  explicit ScriptedApi(ScriptedServer& server) : server_(server) {}

  std::string url() const override { return server_.url; }
  Result<ApiReply> call(const ApiRequest& request) override {
    const Scripted answer = server_.take(request);
    if (answer.error) return std::unexpected(*answer.error);
    return ApiReply{answer.status, answer.body};
  }
  Result<ApiReply> stream(const ApiRequest& request, const EventSink& sink) override {
    const Scripted answer = server_.take(request);
    for (const Event& event : answer.events) sink(event.name, event.data);
    if (answer.error) return std::unexpected(*answer.error);
    return ApiReply{answer.status, answer.body};
  }
  // The body comes in two parts.
  Result<ApiReply> receive(const ApiRequest& request, const ByteSink& sink) override {
    const Scripted answer = server_.take(request);
    if (answer.status >= 400) return ApiReply{answer.status, answer.body};
    const auto middle = answer.body.size() / 2;
    const bool more = sink(std::string_view(answer.body).substr(0, middle));
    if (more && !answer.error) sink(std::string_view(answer.body).substr(middle));
    if (answer.error) return std::unexpected(*answer.error);
    return ApiReply{answer.status, {}};
  }
  Result<std::vector<ApiReply>> call_together(std::span<const ApiRequest> requests) override {
    std::vector<ApiReply> replies;
    replies.reserve(requests.size());
    for (const ApiRequest& request : requests) {
      auto reply = call(request);
      if (!reply) return std::unexpected(reply.error());
      replies.push_back(std::move(*reply));
    }
    return replies;
  }
  Result<> pause(Millis) override {
    if (server_.pauses_before_ctrl_c-- > 0) return {};
    return fail(errc::interrupted, "interrupted");
  }

 private:
  ScriptedServer& server_;
};

class ScriptedInput final : public LineInput {
 public:
  std::deque<InputLine> lines;
  std::string all;
  bool piped = false;

  void type(std::string text) { lines.push_back({InputLine::Kind::line, std::move(text)}); }
  void press_ctrl_c() { lines.push_back({InputLine::Kind::interrupted, {}}); }

  InputLine read_line() override {
    if (lines.empty()) return {};
    InputLine line = std::move(lines.front());
    lines.pop_front();
    return line;
  }
  InputLine read_all() override { return {InputLine::Kind::line, all}; }
  bool is_piped() const override { return piped; }
};

class HandClock final : public Clock {
 public:
  Millis time{1'700'000'000'000};
  MonoTime now() const override { return MonoTime(time); }
  WallTime wall_now() const override { return WallTime(time); }
};

// Runs command lines against the scripted server, at a terminal unless set otherwise.
class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    hooks_.version = "0.1.0";
    hooks_.components = {{"llama.cpp", "0.5.0"}};
    hooks_.serve = [this](config::LiveSettings& settings) {
      served_ = *settings.in_force();
      return 0;
    };
    surroundings_.terminal.in_tty = true;
    surroundings_.terminal.out_tty = true;
    surroundings_.terminal.err_tty = true;
    variables_["HOME"] = "/nonexistent";
  }

  int run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    return run_program(arguments, hooks_, surroundings_);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }
  void pipe_everything() {
    surroundings_.terminal.in_tty = surroundings_.terminal.out_tty = surroundings_.terminal.err_tty = false;
  }
  void answer_chat(const std::vector<std::string>& pieces) {
    Scripted answer;
    for (const std::string& piece : pieces) {
      answer.events.push_back({"", R"({"choices":[{"delta":{"content":")" + piece + R"("}}]})"});
    }
    answer.events.push_back({"", R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"});
    answer.events.push_back({"", "[DONE]"});
    server_.on("POST /api/v1/chat/completions", answer);
  }
  void in_memory(const std::string& model) {
    server_.on("GET /api/v1/health", R"({"version":"0.1.0","all_models_loaded":[{"model_name":")" + model + R"("}]})");
  }

  std::map<std::string, std::string, std::less<>> variables_;
  std::ostringstream out_;
  std::ostringstream err_;
  ScriptedServer server_;
  ScriptedInput input_;
  HandClock clock_;
  Hooks hooks_;
  std::optional<config::ServeSettings> served_;
  ProgramIo surroundings_{.environment = [this](std::string_view name) -> std::optional<std::string> {
                            const auto found = variables_.find(name);
                            return found == variables_.end() ? std::nullopt : std::optional(found->second);
                          },
                          .terminal = {out_, err_},
                          .input = input_,
                          .clock = clock_,
                          .connect =
                              [this](const Address& address) {
                                server_.address = address;
                                return std::make_unique<ScriptedApi>(server_);
                              }};
};

}  // namespace corral::cli
