// Filters of an inference request.
#include "api/base/inference_call.h"

#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/spawned_task.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

http::Response run(const std::vector<Filter>& filters) {
  async::Loop loop;
  async::SpawnedTask<http::Response> answering(loop.executor(), "call",
                                               Next(filters.data())(std::make_unique<InferenceCall>()));
  loop.context().poll();
  return answering.take();
}

TEST(InferenceCallTest, FiltersRunInTheirOrderAndTheLastOneAnswers) {
  std::string order;
  const auto passes = [&order](char name) {
    return Filter([&order, name](CallPtr call, Next next) {
      order += name;
      return next(std::move(call));
    });
  };
  const Filter around = [&order](CallPtr call, Next next) {
    const auto wait = [](std::string& text, CallPtr inner, Next rest) -> async::Task<http::Response> {
      auto answering = rest(std::move(inner));
      auto answer = co_await std::move(answering);
      text += '!';
      co_return answer;
    };
    return wait(order, std::move(call), next);
  };
  const Filter refuses = [&order](CallPtr, Next) {
    order += 'z';
    return refused(Error(make_error_code(protocol::errc::bad_value), "no"));
  };
  EXPECT_EQ(run({passes('a'), around, passes('b'), refuses, passes('c')}).head.status, 400u);
  EXPECT_EQ(order, "abz!");
}

TEST(InferenceCallTest, AnAttachmentIsFoundByItsType) {
  struct One {
    int value = 1;
  };
  struct Other {};
  Attachments attached;
  EXPECT_EQ(attached.get<One>(), nullptr);
  const auto one = std::make_shared<One>();
  attached.set(one);
  EXPECT_EQ(attached.get<One>(), one);
  EXPECT_EQ(attached.get<Other>(), nullptr);
}

TEST(InferenceCallTest, PathsAreShownAsInTheDocumentation) {
  EXPECT_EQ(shown_path({.path = "/api/chat"}), "api/chat");
  EXPECT_EQ(shown_path({.path = "chat/completions"}), "chat/completions");
}

}  // namespace
}  // namespace corral::api
