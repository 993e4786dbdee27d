#include "engine/threads/in_flight.h"

#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

constexpr MonoTime kPast{};
const MonoTime kNever = MonoTime::max();

TEST(InFlight, HoldsNoMoreThanItsLimit) {
  InFlight in_flight;
  auto first = in_flight.enter(1);
  ASSERT_TRUE(first);
  EXPECT_EQ(in_flight.enter(1).error(), InFlight::Refusal::full);
  first->release();
  first->release();
  auto second = in_flight.enter(1);
  EXPECT_TRUE(second);
  {
    const InFlight::Ticket moved = std::move(*second);
  }
  EXPECT_TRUE(in_flight.enter(1));
}

TEST(InFlight, ClosedLetsNobodyInAndTheOthersOut) {
  InFlight in_flight;
  auto inside = in_flight.enter();
  in_flight.close();
  EXPECT_TRUE(in_flight.closed());
  EXPECT_EQ(in_flight.enter().error(), InFlight::Refusal::closed);
  EXPECT_FALSE(in_flight.wait_until_empty(kPast));
  inside->release();
  EXPECT_TRUE(in_flight.wait_until_empty(kPast));
}

TEST(InFlight, WaitsForTheLast) {
  InFlight in_flight;
  auto one = in_flight.enter(), other = in_flight.enter();
  std::thread leaving([&] {
    one->release();
    other->release();
  });
  EXPECT_TRUE(in_flight.wait_until_empty(kNever));
  leaving.join();
}

TEST(InFlight, TicketsMayOutliveIt) {
  std::optional<InFlight> in_flight(std::in_place);
  auto ticket = in_flight->enter();
  in_flight.reset();
  ticket->release();
}

}  // namespace
}  // namespace corral::engine
