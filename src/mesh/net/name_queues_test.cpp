// Names that take long, and who waits for them.
#include "mesh/net/tls/name_queues.h"

#include <condition_variable>
#include <map>
#include <mutex>

#include <gmock/gmock.h>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;

// A resolver that is played: names that begin with "slow" have no answer before release().
class PlayedNames {
 public:
  LookUp look_up() {
    return [this](const Address& address) { return answer(address); };
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    released_ = true;
    turn_.notify_all();
  }
  std::vector<std::string> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  // How long the answer for this host is said to take.
  void takes(const std::string& host, Millis time) {
    const std::scoped_lock lock(mutex_);
    took_[host] = time;
  }

 private:
  FoundName answer(const Address& address) {
    std::unique_lock lock(mutex_);
    asked_.push_back(address.host);
    if (address.host.starts_with("slow")) turn_.wait(lock, [this] { return released_; });
    const auto known = took_.find(address.host);
    return {{{async::asio::ip::address_v4::loopback(), address.port}},
            {},
            known == took_.end() ? Millis(1) : known->second};
  }
  std::mutex mutex_;
  std::condition_variable turn_;
  bool released_ = false;
  std::vector<std::string> asked_;
  std::map<std::string, Millis> took_;
};

class NameQueuesTest : public testing::Test {
 protected:
  ~NameQueuesTest() override {
    names_.release();
    tasks_.cancel();
    loop_.context().poll();
  }
  struct Asked {
    std::optional<Result<Endpoints>> result;
  };
  static Task<void> find(std::shared_ptr<Asked> into, Place place, LookUp look_up) {
    into->result = co_await find_endpoints(std::move(place), std::move(look_up));
  }
  std::shared_ptr<Asked> ask(const std::string& host, Origin origin) {
    auto asked = std::make_shared<Asked>();
    tasks_.spawn("find", find(asked, Place({host, 7}, origin), names_.look_up()));
    return asked;
  }
  bool until(const std::function<bool()>& done) {
    const auto limit = MonoClock::now() + std::chrono::seconds(20);
    while (!done() && MonoClock::now() < limit) loop_.context().run_one_for(std::chrono::milliseconds(10));
    return done();
  }
  bool answered(const std::shared_ptr<Asked>& asked) {
    return until([&] { return asked->result.has_value(); });
  }

  PlayedNames names_;
  async::Loop loop_;
  async::TaskGroup tasks_{loop_.executor()};
};

// A member told names that its name server answers slowly: this node's own dials waited behind them.
TEST_F(NameQueuesTest, NamesThatAreToldDelayNoOthers) {
  const auto slow = ask("slow", Origin::other);
  ASSERT_TRUE(until([&] { return names_.asked().size() == 1; }));
  const auto quick = ask("box", Origin::other);
  for (const auto origin : {Origin::settings, Origin::link}) {
    const auto own = ask("own", origin);
    ASSERT_TRUE(answered(own));
    EXPECT_EQ((*own->result)->front().port(), 7);
  }
  EXPECT_FALSE(slow->result);
  EXPECT_FALSE(quick->result);
  names_.release();
  EXPECT_TRUE(answered(slow));
  EXPECT_TRUE(answered(quick));
}

// Who has a link tells its names, too, and could have them answered slowly once it has one.
TEST_F(NameQueuesTest, ANameOfALinkThatTookLongIsOnlyToldFromThenOn) {
  names_.takes("lazy", Millis(5000));
  ASSERT_TRUE(answered(ask("lazy", Origin::link)));
  const auto slow = ask("slow", Origin::other);
  ASSERT_TRUE(until([&] { return names_.asked().size() == 2; }));
  const auto lazy = ask("lazy", Origin::link);
  ASSERT_TRUE(answered(ask("quick", Origin::link)));
  ASSERT_TRUE(answered(ask("lazy", Origin::settings))) << "what the settings say is never put back";
  EXPECT_FALSE(lazy->result);
  names_.release();
  EXPECT_TRUE(answered(lazy));
}

TEST_F(NameQueuesTest, EachQueueHasItsBound) {
  std::vector<std::shared_ptr<Asked>> waiting;
  for (std::size_t i = 0; i < kMaxNames; ++i) waiting.push_back(ask("slow", Origin::other));
  const auto refused = ask("one", Origin::other);
  ASSERT_TRUE(answered(refused));
  ASSERT_FALSE(*refused->result);
  EXPECT_EQ(refused->result->error().code, errc::unreachable);
  EXPECT_TRUE(answered(ask("own", Origin::settings)));
  EXPECT_TRUE(answered(ask("127.0.0.1", Origin::other))) << "nothing has to be found";
  names_.release();
  EXPECT_TRUE(answered(waiting.back()));
  EXPECT_TRUE(answered(ask("one", Origin::other)));
}

TEST_F(NameQueuesTest, WhatIsGivenUpBeforeItsTurnIsntAskedFor) {
  const auto slow = ask("slow", Origin::other);
  ASSERT_TRUE(until([&] { return names_.asked().size() == 1; }));
  {
    async::TaskGroup others(loop_.executor());
    auto asked = std::make_shared<Asked>();
    others.spawn("find", find(asked, Place({"forgotten", 7}), names_.look_up()));
    loop_.context().poll();
    others.cancel();
    EXPECT_TRUE(until([&] { return others.running() == 0; }));
  }
  const auto last = ask("last", Origin::other);
  names_.release();
  ASSERT_TRUE(answered(last));
  EXPECT_THAT(names_.asked(), testing::ElementsAre("slow", "last"));
}

TEST(NameLookUp, TheSystemKnowsThisMachineAndSaysWhyItKnowsNoOther) {
  const auto own = ask_system({"localhost", 8100});
  ASSERT_FALSE(own.endpoints.empty()) << own.problem;
  EXPECT_TRUE(own.endpoints.front().address().is_loopback());
  EXPECT_EQ(own.endpoints.front().port(), 8100);
  const auto none = ask_system({"no such host", 1});
  EXPECT_TRUE(none.endpoints.empty());
  EXPECT_FALSE(none.problem.empty());
}

}  // namespace
}  // namespace corral::mesh
