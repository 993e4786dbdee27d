#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "backends/external/address.h"
#include "backends/external/answer_name.h"
#include "backends/external/error_shape.h"
#include "backends/external/exec_server.h"
#include "backends/external/external_target.h"
#include "backends/external/form_fields.h"
#include "backends/external/measured_memory.h"
#include "backends/external/port.h"
#include "models/temp_dir_for_tests.h"

namespace corral::backends {
namespace {

std::string translated(std::string_view body, std::string_view name, std::vector<std::string> strip = {},
                       std::map<std::string, std::string> set = {}) {
  Descriptor descriptor;
  descriptor.strip = std::move(strip);
  descriptor.set = std::move(set);
  return in_their_words(body, descriptor, name);
}

TEST(ExternalFormats, ModelIsRenamedFieldsGoAndCome) {
  EXPECT_EQ(translated(R"({"model":"a","x":1,"y":[1, {"b":2}]})", "theirs"),
            R"({"model":"theirs","x":1,"y":[1,{"b":2}]})");
  EXPECT_EQ(
      translated(R"({"model":"a","temperature":1,"seed":2})", "t", {"temperature"}, {{"seed", "7"}, {"k", "[1]"}}),
      R"({"model":"t","k":[1],"seed":7})");
  EXPECT_EQ(translated(R"({"model":"a"})", ""), R"({"model":"a"})");
  EXPECT_EQ(translated(R"({"model":"a","p":1})", "", {"model"}), R"({"p":1})");
  EXPECT_EQ(translated(R"({"x":"é\n\u0041"})", "t"), R"({"model":"t","x":"é\n\u0041"})");
  EXPECT_EQ(translated("no JSON", "t"), "no JSON");
}

class Bytes final : public http::BodySource {
 public:
  Bytes(std::string text, std::size_t step) : text_(std::move(text)), step_(step) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = std::string_view(text_).substr(at_, step_);
    at_ += piece.size();
    co_return piece;
  }
  std::optional<std::uint64_t> length() const override { return text_.size(); }

 private:
  const std::string text_;
  const std::size_t step_;
  std::size_t at_ = 0;
};

std::string changed(const std::string& form, std::size_t step, FormChanges changes,
                    std::optional<std::uint64_t>* length = nullptr) {
  async::Loop loop;
  const auto work = [](std::string text, std::size_t by, FormChanges to,
                       std::optional<std::uint64_t>* passed_length) -> async::Task<std::string> {
    Bytes source(std::move(text), by);
    ChangedForm passed(source, "multipart/form-data; boundary=XX", std::move(to));
    (void)co_await passed.find();
    if (passed_length) *passed_length = passed.length();
    std::string out;
    for (;;) {
      const auto piece = co_await passed.read();
      if (!piece || piece->empty()) break;
      out.append(*piece);
    }
    co_return out;
  };
  return async::run_blocking(loop, work(form, step, std::move(changes), length));
}

std::string renamed(const std::string& form, std::size_t step, std::string name,
                    std::optional<std::uint64_t>* length = nullptr) {
  return changed(form, step, {.model = std::move(name)}, length);
}

std::string form_with(const std::string& model, const std::string& file = "RIFF\r\n--X\r\ndata") {
  return "--XX\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nde\r\n--XX\r\nContent-Disposition: "
         "form-data; "
         "name=\"model\"\r\n\r\n" +
         model +
         "\r\n--XX\r\nContent-Disposition: form-data; name=\"file\"; "
         "filename=\"model\"\r\nContent-Type: audio/wav\r\n\r\n" +
         file + "\r\n--XX--\r\n";
}

TEST(ExternalFormats, AFormHasTheirNameHoweverItComes) {
  for (const std::size_t step : {1u, 2u, 7u, 64u, 100'000u}) {
    std::optional<std::uint64_t> length;
    EXPECT_EQ(renamed(form_with("mine"), step, "theirs-and-longer", &length), form_with("theirs-and-longer")) << step;
    EXPECT_EQ(length, form_with("theirs-and-longer").size()) << step;
    EXPECT_EQ(renamed(form_with(""), step, "t"), form_with("t")) << step;
    EXPECT_EQ(renamed(form_with("mine"), step, ""), form_with("mine")) << step;
  }
}

TEST(ExternalFormats, AFormWithoutTheNameOrABrokenOnePassesAsItIs) {
  const std::string without = "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX--\r\n";
  const std::string broken = "--XX\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nno end";
  for (const std::size_t step : {1u, 1000u}) {
    EXPECT_EQ(renamed(without, step, "t"), without);
    EXPECT_EQ(renamed(broken, step, "t"), broken);
    EXPECT_EQ(renamed("nothing of a form", step, "t"), "nothing of a form");
  }
}

std::string field(const std::string& name, const std::string& value) {
  return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}

TEST(ExternalFormats, FieldsOfAFormGoAndComeHoweverItComes) {
  const std::string file =
      "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"temperature\"\r\n\r\nRIFF\r\n--X\r\n";
  const std::string form = field("temperature", "0.5") + field("model", "mine") + file + field("list[]", "a") +
                           field("empty", "") + field("kept", "yes") + field("seed", "1") + "--XX--\r\n";
  const FormChanges changes{"theirs", {"temperature", "list", "empty"}, {{"seed", "7"}, {"word", "\"a b\""}}};
  const std::string expected =
      field("seed", "7") + field("word", "a b") + field("model", "theirs") + file + field("kept", "yes") + "--XX--\r\n";
  for (const std::size_t step : {1u, 2u, 7u, 64u, 100'000u}) {
    std::optional<std::uint64_t> length;
    EXPECT_EQ(changed(form, step, changes, &length), expected) << step;
    EXPECT_EQ(length, expected.size()) << step;
    EXPECT_EQ(changed(form, step, {"t", {}, {{"model", "\"set\""}}}),
              field("model", "set") + field("temperature", "0.5") +
                  form.substr(form.find("--XX\r\nContent-Disposition: form-data; name=\"file\"")))
        << step;
  }
}

TEST(ExternalFormats, ALargeFormHasNoLengthUntilItsFieldsAreKnown) {
  const std::string file = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n" +
                           std::string(200'000, 'x') + "\r\n";
  std::optional<std::uint64_t> length = 1;
  EXPECT_EQ(changed(file + field("gone", "1") + "--XX--\r\n", 10'000, {"", {"gone"}}, &length), file + "--XX--\r\n");
  EXPECT_EQ(length, std::nullopt);
}

std::string with_name(const std::string& answer, std::size_t step, bool events) {
  NameReplacer replacer(events, "ask\"ed");
  std::string out;
  for (std::size_t at = 0; at < answer.size(); at += step)
    out += replacer.pass(std::string_view(answer).substr(at, step));
  return out;
}

TEST(ExternalFormats, AnAnswerHasTheNameThatWasAskedFor) {
  const std::pair<std::string, std::string> answers[] = {
      {R"({"model":"/srv/x.gguf","choices":[{"model":"inner"}],"x":"model"})",
       R"({"model":"ask\"ed","choices":[{"model":"inner"}],"x":"model"})"},
      {R"({"x":{"model":"a"},"y":"\"model\":\"b\"", "model" : "c\"\\", "z":1})",
       R"({"x":{"model":"a"},"y":"\"model\":\"b\"", "model" : "ask\"ed", "z":1})"},
      {R"({"model":null,"models":"a"})", R"({"model":null,"models":"a"})"},
      {R"([{"model":"a"}])", R"([{"model":"a"}])"},
      {"no JSON", "no JSON"}};
  for (const auto& [answer, expected] : answers)
    for (const std::size_t step : {1u, 3u, 1000u}) EXPECT_EQ(with_name(answer, step, false), expected) << step;
  const std::string events =
      "event: x\ndata: {\"model\":\"a\",\"c\":[\"model\"]}\n\ndata: {\"c\":\"}\",\"model\":\"b\"}\n\n"
      ": it's \"odd\ndata: {\"model\":\"c\"}\n\ndata: [DONE]\n\n";
  const std::string expected =
      "event: x\ndata: {\"model\":\"ask\\\"ed\",\"c\":[\"model\"]}\n\ndata: {\"c\":\"}\",\"model\":\"ask\\\"ed\"}\n\n"
      ": it's \"odd\ndata: {\"model\":\"ask\\\"ed\"}\n\ndata: [DONE]\n\n";
  for (const std::size_t step : {1u, 3u, 1000u}) EXPECT_EQ(with_name(events, step, true), expected) << step;
}

TEST(ExternalFormats, ErrorsHaveTheShapeOfOpenAI) {
  const auto error = [](unsigned status, std::string_view body) {
    return openai_error(status, body, "the backend 'x'");
  };
  EXPECT_EQ(error(404, R"({"error":"model 'x' not found"})"),
            R"({"error":{"message":"model 'x' not found","type":"not_found_error","code":"not_found","param":null}})");
  EXPECT_THAT(error(500, R"({"error":"server_error","message":"wrong UTF-8"})"),
              testing::HasSubstr(R"("message":"wrong UTF-8")"));
  EXPECT_EQ(
      error(
          400,
          R"({"error":{"code":400,"message":"no","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}})"),
      R"({"error":{"message":"no","type":"exceed_context_size_error","code":"context_length_exceeded","param":null,"n_prompt_tokens":9,"n_ctx":8}})");
  EXPECT_EQ(error(401, R"({"error":{"message":"m","type":"t","code":"c","param":"p"}})"),
            R"({"error":{"message":"m","type":"t","code":"c","param":"p"}})");
  EXPECT_THAT(error(422, R"({"detail":[{"loc":["body"],"msg":"field required"}]})"),
              testing::HasSubstr(R"("message":"field required")"));
  EXPECT_THAT(error(400, R"({"object":"error","message":"bad","type":"BadRequestError","code":400})"),
              testing::HasSubstr(R"("message":"bad","type":"BadRequestError","code":")"));
  EXPECT_THAT(error(400, "Invalid request\n"),
              testing::HasSubstr(R"("message":"Invalid request","type":"invalid_request_error")"));
  EXPECT_THAT(error(500, ""), testing::HasSubstr(R"("message":"the backend 'x' returned status 500")"));
}

TEST(Gate, LetsInSoManyAndTheOthersInTheirOrder) {
  async::Loop loop;
  async::TaskGroup group(loop.executor());
  const auto gate = RequestGate::make(2);
  std::vector<int> entered;
  std::vector<RequestGate::Place> places(5);
  const auto enter = [&](int number) -> async::Task<void> {
    places[static_cast<std::size_t>(number)] = co_await gate->enter();
    entered.push_back(number);
  };
  const auto settle = [&] {
    for (int i = 0; i < 10; ++i) {
      loop.context().restart();
      loop.context().poll();
    }
  };
  async::TaskGroup gives_up(loop.executor());
  group.spawn("0", enter(0));
  group.spawn("1", enter(1));
  gives_up.spawn("2", enter(2));
  group.spawn("3", enter(3));
  group.spawn("4", enter(4));
  settle();
  EXPECT_THAT(entered, testing::ElementsAre(0, 1));
  EXPECT_EQ(gate->waiting(), 3u);
  gives_up.cancel();
  settle();
  EXPECT_EQ(gate->waiting(), 2u);
  places[0].give_back();
  settle();
  EXPECT_THAT(entered, testing::ElementsAre(0, 1, 3));
  for (auto& place : places) place.give_back();
  settle();
  EXPECT_THAT(entered, testing::ElementsAre(0, 1, 3, 4));
  for (auto& place : places) place.give_back();
  EXPECT_EQ(gate->inside(), 0u);
}

TEST(Gate, WhoGivesUpWithAPlaceHandsItOn) {
  async::Loop loop;
  const auto gate = RequestGate::make(1);
  async::TaskGroup first(loop.executor()), second(loop.executor());
  RequestGate::Place held, got;
  const auto enter = [&](RequestGate::Place& into) -> async::Task<void> { into = co_await gate->enter(); };
  first.spawn("holds", enter(held));
  loop.context().restart();
  loop.context().poll();
  RequestGate::Place lost;
  first.spawn("waits", enter(lost));
  second.spawn("waits", enter(got));
  loop.context().restart();
  loop.context().poll();
  held.give_back();  // the first waiter has its place, and doesn't know it yet
  first.cancel();
  for (int i = 0; i < 10; ++i) {
    loop.context().restart();
    loop.context().poll();
  }
  lost.give_back();
  for (int i = 0; i < 10; ++i) {
    loop.context().restart();
    loop.context().poll();
  }
  EXPECT_EQ(gate->waiting(), 0u);
  EXPECT_EQ(gate->inside(), 1u);
}

TEST(Addresses, AreReadOrRefused) {
  const auto read = parse_address("http://localhost:11434/v1/");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->host, "localhost");
  EXPECT_EQ(read->port, 11434);
  EXPECT_EQ(read->base, "/v1");
  EXPECT_EQ(parse_address("http://[::1]:8080")->host, "::1");
  EXPECT_EQ(parse_address("http://host")->port, 80);
  for (const auto wrong : {"https://a", "http://", "http://a:0", "http://a:x", "http://u@a", "http://a/b?c", "a:1"})
    EXPECT_FALSE(parse_address(wrong)) << wrong;
}

TEST(Ports, AreOfWhoListens) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto port = ntohs(address.sin_port);
  EXPECT_EQ(owner_of_port(port, ::getpid()), PortOwner::none);
  ASSERT_EQ(::listen(socket, 1), 0);
  EXPECT_EQ(owner_of_port(port, ::getpid()), PortOwner::ours);
  EXPECT_THAT(ports_of(::getpid()), testing::Contains(port));
  EXPECT_EQ(owner_of_port(port, 999'999'999), PortOwner::another);
  ::close(socket);
  EXPECT_NE(free_port(), 0);
}

TEST(Measured, TheMostIsRememberedAcrossRuns) {
  const models::TempDir dir;
  {
    MeasuredMemory memory(dir / "measured.json");
    memory.note("a", {100, 5});
    memory.note("a", {80, 9});
    memory.note("b", {0, 0});
  }
  MeasuredMemory memory(dir / "measured.json");
  EXPECT_EQ(memory.of("a"), (Measured{100, 9}));
  EXPECT_EQ(memory.of("b"), std::nullopt);
}

TEST(ExternalRequests, ThatLookLikeFlagsHaveNoValue) {
  const auto values = request_values(R"({"voice":"en","speed":1.5,"bad":"-w/etc/x","list":[1]})");
  ASSERT_TRUE(values);
  EXPECT_EQ(*values, (std::map<std::string, std::string>{{"request.voice", "en"}, {"request.speed", "1.5"}}));
  EXPECT_FALSE(request_values("[]"));
}

}  // namespace
}  // namespace corral::backends
