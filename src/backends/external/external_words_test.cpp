#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "backends/external/address.h"
#include "backends/external/exec_server.h"
#include "backends/external/external_target.h"
#include "backends/external/form_name.h"
#include "backends/external/measured_memory.h"
#include "backends/external/port.h"
#include "models/temp_dir_for_tests.h"

namespace corral::backends {
namespace {

ExternalFormat words(std::string name, std::vector<std::string> strip = {},
                     std::map<std::string, std::string> set = {}) {
  auto descriptor = std::make_shared<Descriptor>();
  descriptor->strip = std::move(strip);
  descriptor->set = std::move(set);
  ExternalFormat words;
  words.descriptor = std::move(descriptor);
  words.name = std::move(name);
  return words;
}

TEST(ExternalFormats, ModelIsRenamedFieldsGoAndCome) {
  EXPECT_EQ(in_their_words(R"({"model":"a","x":1,"y":[1, {"b":2}]})", words("theirs")),
            R"({"model":"theirs","x":1,"y":[1,{"b":2}]})");
  EXPECT_EQ(in_their_words(R"({"model":"a","temperature":1,"seed":2})",
                           words("t", {"temperature"}, {{"seed", "7"}, {"k", "[1]"}})),
            R"({"model":"t","k":[1],"seed":7})");
  EXPECT_EQ(in_their_words(R"({"model":"a"})", words("")), R"({"model":"a"})");
  EXPECT_EQ(in_their_words(R"({"model":"a","p":1})", words("", {"model"})), R"({"p":1})");
  EXPECT_EQ(in_their_words(R"({"x":"é\n\u0041"})", words("t")), R"({"model":"t","x":"é\n\u0041"})");
  EXPECT_EQ(in_their_words("no JSON", words("t")), "no JSON");
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

std::string renamed(const std::string& form, std::size_t step, std::string name,
                    std::optional<std::uint64_t>* length = nullptr) {
  async::Loop loop;
  const auto work = [](std::string text, std::size_t by, std::string to,
                       std::optional<std::uint64_t>* told) -> async::Task<std::string> {
    Bytes source(std::move(text), by);
    RenamedForm passed(source, "multipart/form-data; boundary=XX", std::move(to));
    (void)co_await passed.find();
    if (told) *told = passed.length();
    std::string out;
    for (;;) {
      const auto piece = co_await passed.read();
      if (!piece || piece->empty()) break;
      out.append(*piece);
    }
    co_return out;
  };
  return async::run_blocking(loop, work(form, step, std::move(name), length));
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
  EXPECT_EQ(owner_of_port(port, ::getpid()), PortOwner::nobody);
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
